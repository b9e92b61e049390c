#include "runtime/ir/bf16_conversion.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/bfloat16.h"

namespace tpurun {
namespace {

constexpr int64_t kTile = 1024;  // elements: 4 KB; a few tiles stay in the first-level cache

// How a bf16 array is converted: a number of elements for each unit of work, or the whole array.
struct Edge {
  bool bf16 = false;
  int64_t per_unit = 0;  // elements; 0: the array is converted as a whole
  int64_t elements = 0;  // number of elements of the whole array
  int64_t offset = 0;    // bytes: where the f32 values are in the scratch memory
};

struct Conversions {
  std::vector<Edge> operands;  // CopiesPerOperand entries for each operand
  Edge result;
  int64_t most_units = 0;  // maximum number of units converted at a time
  int64_t bytes = 0;
};

int64_t PerUnit(const OpFlags& flags, const Shape& shape, const Shape& result, bool own) {
  if (flags.unit == WorkUnit::kElements && own && shape.dims == result.dims) return 1;
  const bool rows = flags.unit == WorkUnit::kRows && shape.rank() > 0 && result.rank() > 0;
  return rows && own && shape.dims[0] == result.dims[0] ? shape.row_elements() : 0;
}

int64_t MostUnits(const OpCall& call, const Conversions& conversions) {
  int64_t largest = 0;
  for (int part = 0; part < call.parts; ++part)
    largest = std::max(largest, BeginOfPart(call, part + 1) - BeginOfPart(call, part));
  if (!call.op->kernels.empty()) return largest;
  int64_t per_unit = conversions.result.per_unit;
  for (const Edge& edge : conversions.operands) per_unit = std::max(per_unit, edge.per_unit);
  return std::min(largest, std::max<int64_t>(1, kTile / std::max<int64_t>(1, per_unit)));
}

Conversions ConversionsOf(const OpCall& call) {
  const OpFlags flags = OpFlagsOf(call);
  const Shape& result = call.results[0];
  Conversions conversions;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Shape& shape = call.operands[i];
    const bool own = flags.unit == WorkUnit::kElements
                         ? flags.elementwise
                         : HasOperand(flags.row_operands, static_cast<int>(i));
    const Edge edge{shape.dtype == DType::kBF16, PerUnit(flags, shape, result, own),
                    shape.num_elements()};
    conversions.operands.insert(conversions.operands.end(), CopiesPerOperand(call), edge);
  }
  conversions.result = {result.dtype == DType::kBF16, PerUnit(flags, result, result, true),
                        result.num_elements()};
  conversions.most_units = MostUnits(call, conversions);
  const auto place = [&](Edge& edge) {
    if (!edge.bf16) return;
    const int64_t elements =
        edge.per_unit > 0 ? conversions.most_units * edge.per_unit : edge.elements;
    edge.offset = conversions.bytes;
    conversions.bytes += Aligned(elements * static_cast<int64_t>(sizeof(float)));
  };
  for (Edge& edge : conversions.operands) place(edge);
  place(conversions.result);
  return conversions;
}

class ConvertingKernel final : public Kernel {
 public:
  ConvertingKernel(const OpCall& call, std::unique_ptr<Kernel> f32)
      : conversions_(ConversionsOf(call)), f32_(std::move(f32)) {
    if (OpFlagsOf(call).unit == WorkUnit::kColumns) columns_ = call.results[0].dims.back();
    results_ = static_cast<int>(call.results.size());
    SetPointers(1);
  }

  void SetWorkers(int workers) override {
    f32_->SetWorkers(workers);
    SetPointers(workers);
  }

  absl::Status Run(const KernelArgs& args) const override {
    Pointers& mine = workers_[args.worker];
    std::copy(args.operands, args.operands + conversions_.operands.size(), mine.operands.begin());
    std::copy(args.results, args.results + results_, mine.results.begin());
    for (size_t i = 0; i < conversions_.operands.size(); ++i) {
      const Edge& edge = conversions_.operands[i];
      if (edge.bf16 && edge.per_unit == 0)
        mine.operands[i] = ToF32(args, edge, args.operands[i], 0, edge.elements);
    }
    for (int64_t begin = args.begin; begin < args.end; begin += conversions_.most_units) {
      const int64_t end = std::min(begin + conversions_.most_units, args.end);
      const absl::Status status = RunTile(args, mine, begin, end);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  struct Pointers {
    std::vector<const void*> operands;
    std::vector<void*> results;
  };

  void SetPointers(int workers) {
    workers_.assign(workers, {std::vector<const void*>(conversions_.operands.size()),
                              std::vector<void*>(static_cast<size_t>(results_))});
  }

  static float* Place(const KernelArgs& args, const Edge& edge) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(args.scratch) + edge.offset);
  }

  static float* ToF32(const KernelArgs& args, const Edge& edge, const void* from, int64_t begin,
                      int64_t n) {
    float* const to = Place(args, edge);
    FromBFloat16(static_cast<const uint16_t*>(from) + begin, n, to);
    return to;
  }

  // Address of element 0 of an array of which only a tile is in memory: `elements` before the tile.
  static float* Ahead(float* tile, int64_t elements) { return tile - elements; }

  absl::Status RunTile(const KernelArgs& args, Pointers& mine, int64_t begin, int64_t end) const {
    for (size_t i = 0; i < conversions_.operands.size(); ++i) {
      const Edge& edge = conversions_.operands[i];
      if (!edge.bf16 || edge.per_unit == 0) continue;
      const int64_t at = begin * edge.per_unit;
      mine.operands[i] =
          Ahead(ToF32(args, edge, args.operands[i], at, (end - begin) * edge.per_unit), at);
    }
    const Edge& result = conversions_.result;
    const bool rounds = result.bf16 && args.results[0] != nullptr;
    if (rounds) mine.results[0] = Ahead(Place(args, result), begin * result.per_unit);
    KernelArgs f32 = args;
    f32.operands = mine.operands.data();
    f32.results = mine.results.data();
    f32.scratch = static_cast<std::byte*>(args.scratch) + conversions_.bytes;
    f32.begin = begin;
    f32.end = end;
    const absl::Status status = f32_->Run(f32);
    if (status.ok() && rounds) Round(args, begin, end);
    return status;
  }

  // Rounds the results of units [begin, end). The other units belong to other parts.
  void Round(const KernelArgs& args, int64_t begin, int64_t end) const {
    const Edge& result = conversions_.result;
    const float* const from = Place(args, result);
    uint16_t* const to = static_cast<uint16_t*>(args.results[0]);
    if (columns_ > 0) {
      for (int64_t row = 0; row < result.elements; row += columns_)
        RoundToBFloat16(from + row + begin, end - begin, to + row + begin);
    } else if (result.per_unit == 0) {
      RoundToBFloat16(from, result.elements, to);
    } else {
      RoundToBFloat16(from, (end - begin) * result.per_unit, to + begin * result.per_unit);
    }
  }

  const Conversions conversions_;
  const std::unique_ptr<Kernel> f32_;
  int64_t columns_ = 0;  // number of columns of a result that is partitioned by columns, else 0
  int results_ = 0;
  mutable std::vector<Pointers> workers_;  // [worker]
};

}  // namespace

bool HasBF16(const OpCall& call) {
  const auto bf16 = [](const Shape& shape) { return shape.dtype == DType::kBF16; };
  return bf16(call.results[0]) || std::any_of(call.operands.begin(), call.operands.end(), bf16);
}

OpCall InF32(const OpCall& call) {
  OpCall f32 = call;
  f32.attrs.Erase(kStoredIn);
  for (size_t i = 0; i < f32.operands.size(); ++i) {
    if (f32.operands[i].dtype != DType::kBF16) continue;
    f32.operands[i].dtype = DType::kF32;
    if (i < 31) f32.rounded_operands |= 1u << i;  // HasOperand
  }
  if (f32.results[0].dtype == DType::kBF16) f32.results[0].dtype = DType::kF32;
  return f32;
}

int64_t ConversionBytes(const OpCall& call) { return ConversionsOf(call).bytes; }

int64_t ConvertedBytes(const OpCall& call) {
  const Conversions conversions = ConversionsOf(call);
  int64_t elements = conversions.result.bf16 ? conversions.result.elements : 0;
  for (const Edge& edge : conversions.operands) {
    // An array that has no share for each part is converted as a whole by every part.
    if (edge.bf16) elements += edge.elements * (edge.per_unit > 0 ? 1 : call.parts);
  }
  return elements * static_cast<int64_t>(sizeof(float));
}

std::unique_ptr<Kernel> WithConversions(const OpCall& call, std::unique_ptr<Kernel> f32) {
  return std::make_unique<ConvertingKernel>(call, std::move(f32));
}

}  // namespace tpurun
