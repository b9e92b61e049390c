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

// The exchanges of each call of the fabric: one, or all that are packed, which come last.
// instruction_of(exchange) is its Instruction.
template <typename T, typename InstructionOf>
std::vector<std::vector<T>> Grouped(const std::vector<T>& exchanges,
                                    const InstructionOf& instruction_of) {
  std::vector<std::vector<T>> calls;
  std::vector<T> packed;
  for (const T exchange : exchanges) {
    if (IsPacked(*instruction_of(exchange))) {
      packed.push_back(exchange);
    } else {
      calls.push_back({exchange});
    }
  }
  if (!packed.empty()) calls.push_back(std::move(packed));
  return calls;
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
  std::vector<const Instruction*> exchanges;
  for (const Instruction& instruction : phase.instructions)
    if (instruction.op->flags.exchange != Exchange::kNone) exchanges.push_back(&instruction);
  std::vector<ExchangeCall> calls;
  for (std::vector<const Instruction*>& of_call :
       Grouped(exchanges, [](const Instruction* exchange) { return exchange; })) {
    Collective collective = CollectiveOf(*of_call[0]);
    for (size_t i = 1; i < of_call.size(); ++i) collective.count += CollectiveOf(*of_call[i]).count;
    calls.push_back({collective, std::move(of_call)});
  }
  return calls;
}

absl::Status Exchanges::Run(const std::vector<LoadedInstruction>& exchanges, const Bases& bases,
                            Fabric& fabric) {
  std::vector<const LoadedInstruction*> all;
  for (const LoadedInstruction& exchange : exchanges) all.push_back(&exchange);
  for (const std::vector<const LoadedInstruction*>& of_call :
       Grouped(all, [](const LoadedInstruction* exchange) { return exchange->instruction; })) {
    RETURN_IF_ERROR(of_call.size() == 1 ? RunOne(*of_call[0], bases, fabric)
                                        : RunPacked(of_call, bases, fabric));
  }
  return absl::OkStatus();
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
