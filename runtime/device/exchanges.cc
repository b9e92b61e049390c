#include "runtime/device/exchanges.h"

#include <cstring>
#include <utility>

#include "runtime/base/status.h"

namespace tpurun {
namespace {

// Sums of fewer bytes are packed.
constexpr int64_t kPackedBytes = 64 << 10;

const Shape& ShapeOf(const LoadedInstruction& exchange) {
  return exchange.instruction->operands[0].shape;
}

bool IsPacked(const Instruction& exchange) {
  const Shape& shape = exchange.operands[0].shape;
  return exchange.op->flags.exchange == Exchange::kSum && shape.dtype == DType::kF32 &&
         shape.bytes() < kPackedBytes;
}

Collective CollectiveOf(const Instruction& exchange) {
  const Shape& shape = exchange.operands[0].shape;
  if (exchange.op->flags.exchange == Exchange::kConcat)
    return {.kind = Collective::Kind::kGather, .count = shape.bytes()};
  const int64_t elements = shape.num_elements();
  return {.count = elements, .element_bytes = elements == 0 ? 1 : shape.bytes() / elements};
}

template <typename T>
absl::Status SumOver(Fabric& fabric, const void* x, void* sum, int64_t n) {
  return fabric.AllReduceSum(static_cast<const T*>(x), static_cast<T*>(sum), n);
}

absl::Status RunOne(const LoadedInstruction& exchange, const Bases& bases, Fabric& fabric) {
  const Shape& shape = ShapeOf(exchange);
  const void* const x = exchange.addresses[0].On(bases, 0);
  void* const result = exchange.addresses[1].On(bases, 0);
  if (exchange.instruction->op->flags.exchange == Exchange::kConcat)
    return fabric.AllGather(x, shape.bytes(), result);
  const int64_t n = shape.num_elements();
  switch (shape.dtype) {
    case DType::kF32:
      return SumOver<float>(fabric, x, result, n);
    case DType::kS32:
      return SumOver<int32_t>(fabric, x, result, n);
    default:
      return SumOver<int64_t>(fabric, x, result, n);
  }
}

}  // namespace

std::vector<ExchangeCall> ExchangeCalls(const Phase& phase) {
  std::vector<ExchangeCall> calls;
  ExchangeCall packed = {.collective = {.element_bytes = sizeof(float)}};
  for (const Instruction& instruction : phase.instructions) {
    if (instruction.op->flags.exchange == Exchange::kNone) continue;
    const Collective collective = CollectiveOf(instruction);
    if (IsPacked(instruction)) {
      packed.collective.count += collective.count;
      packed.exchanges.push_back(&instruction);
    } else {
      calls.push_back({collective, {&instruction}});
    }
  }
  if (!packed.exchanges.empty()) calls.push_back(std::move(packed));
  return calls;
}

absl::Status Exchanges::Run(const std::vector<LoadedInstruction>& exchanges, const Bases& bases,
                            Fabric& fabric) {
  std::vector<const LoadedInstruction*> packed;
  for (const LoadedInstruction& exchange : exchanges) {
    if (IsPacked(*exchange.instruction)) {
      packed.push_back(&exchange);
    } else {
      RETURN_IF_ERROR(RunOne(exchange, bases, fabric));
    }
  }
  if (packed.size() == 1) return RunOne(*packed[0], bases, fabric);
  return packed.empty() ? absl::OkStatus() : RunPacked(packed, bases, fabric);
}

absl::Status Exchanges::RunPacked(std::span<const LoadedInstruction* const> sums,
                                  const Bases& bases, Fabric& fabric) {
  int64_t n = 0;
  for (const LoadedInstruction* sum : sums) n += ShapeOf(*sum).num_elements();
  packed_.resize(n);
  sums_.resize(n);
  float* to = packed_.data();
  for (const LoadedInstruction* sum : sums) {
    const int64_t count = ShapeOf(*sum).num_elements();
    std::memcpy(to, sum->addresses[0].On(bases, 0), count * sizeof(float));
    to += count;
  }
  RETURN_IF_ERROR(fabric.AllReduceSum(packed_.data(), sums_.data(), n));
  const float* from = sums_.data();
  for (const LoadedInstruction* sum : sums) {
    const int64_t count = ShapeOf(*sum).num_elements();
    std::memcpy(sum->addresses[1].On(bases, 0), from, count * sizeof(float));
    from += count;
  }
  return absl::OkStatus();
}

}  // namespace tpurun
