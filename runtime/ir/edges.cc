#include "runtime/ir/edges.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/bfloat16.h"

namespace tpurun {
namespace {

constexpr int64_t kTile = 1024;  // elements: 4 KB, a few of them stay in the first-level cache

// How a bf16 array is converted: so many elements for each unit of work, or as a whole.
struct Edge {
  bool narrow = false;
  int64_t per_unit = 0;  // elements; 0: as a whole
  int64_t elements = 0;  // of the whole array
  int64_t offset = 0;    // of its f32 values in the scratch memory, bytes
};

struct Edges {
  std::vector<Edge> operands;  // with CopiesPerOperand of each
  Edge result;
  int64_t most_units = 0;  // converted at a time
  int64_t bytes = 0;
};

int64_t PerUnit(const OpFlags& flags, const Shape& shape, const Shape& result, bool own) {
  if (flags.unit == WorkUnit::kElements && own && shape.dims == result.dims) return 1;
  const bool rows = flags.unit == WorkUnit::kRows && shape.rank() > 0 && result.rank() > 0;
  return rows && own && shape.dims[0] == result.dims[0] ? shape.row_elements() : 0;
}

int64_t MostUnits(const OpCall& call, const Edges& edges) {
  int64_t largest = 0;
  for (int part = 0; part < call.parts; ++part)
    largest = std::max(largest, BeginOfPart(call, part + 1) - BeginOfPart(call, part));
  if (call.op->plan) return largest;
  int64_t per_unit = edges.result.per_unit;
  for (const Edge& edge : edges.operands) per_unit = std::max(per_unit, edge.per_unit);
  return std::min(largest, std::max<int64_t>(1, kTile / std::max<int64_t>(1, per_unit)));
}

Edges EdgesOf(const OpCall& call) {
  const OpFlags flags = OpFlagsOf(call);
  const Shape& result = call.results[0];
  Edges edges;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Shape& shape = call.operands[i];
    const bool own = flags.unit == WorkUnit::kElements
                         ? flags.elementwise
                         : HasOperand(flags.row_operands, static_cast<int>(i));
    const Edge edge{shape.dtype == DType::kBF16, PerUnit(flags, shape, result, own),
                    shape.num_elements()};
    edges.operands.insert(edges.operands.end(), CopiesPerOperand(call), edge);
  }
  edges.result = {result.dtype == DType::kBF16, PerUnit(flags, result, result, true),
                  result.num_elements()};
  edges.most_units = MostUnits(call, edges);
  const auto place = [&](Edge& edge) {
    if (!edge.narrow) return;
    const int64_t elements = edge.per_unit > 0 ? edges.most_units * edge.per_unit : edge.elements;
    edge.offset = edges.bytes;
    edges.bytes += Aligned(elements * static_cast<int64_t>(sizeof(float)));
  };
  for (Edge& edge : edges.operands) place(edge);
  place(edges.result);
  return edges;
}

class EdgesKernel final : public Kernel {
 public:
  EdgesKernel(const OpCall& call, std::unique_ptr<Kernel> wide)
      : edges_(EdgesOf(call)), wide_(std::move(wide)) {
    if (OpFlagsOf(call).unit == WorkUnit::kColumns) columns_ = call.results[0].dims.back();
    results_ = static_cast<int>(call.results.size());
    SetPointers(1);
  }

  void SetWorkers(int workers) override {
    wide_->SetWorkers(workers);
    SetPointers(workers);
  }

  absl::Status Run(const KernelArgs& args) const override {
    Pointers& mine = workers_[args.worker];
    std::copy(args.operands, args.operands + edges_.operands.size(), mine.operands.begin());
    std::copy(args.results, args.results + results_, mine.results.begin());
    for (size_t i = 0; i < edges_.operands.size(); ++i) {
      const Edge& edge = edges_.operands[i];
      if (edge.narrow && edge.per_unit == 0)
        mine.operands[i] = Widen(args, edge, args.operands[i], 0, edge.elements);
    }
    for (int64_t begin = args.begin; begin < args.end; begin += edges_.most_units) {
      const int64_t end = std::min(begin + edges_.most_units, args.end);
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
    workers_.assign(workers, {std::vector<const void*>(edges_.operands.size()),
                              std::vector<void*>(static_cast<size_t>(results_))});
  }

  static float* Place(const KernelArgs& args, const Edge& edge) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(args.scratch) + edge.offset);
  }

  static float* Widen(const KernelArgs& args, const Edge& edge, const void* from, int64_t begin,
                      int64_t n) {
    float* const to = Place(args, edge);
    FromBFloat16(static_cast<const uint16_t*>(from) + begin, n, to);
    return to;
  }

  // An array of which only what a tile works on is there begins as far ahead of it.
  static float* Ahead(float* tile, int64_t elements) { return tile - elements; }

  absl::Status RunTile(const KernelArgs& args, Pointers& mine, int64_t begin, int64_t end) const {
    for (size_t i = 0; i < edges_.operands.size(); ++i) {
      const Edge& edge = edges_.operands[i];
      if (!edge.narrow || edge.per_unit == 0) continue;
      const int64_t at = begin * edge.per_unit;
      mine.operands[i] =
          Ahead(Widen(args, edge, args.operands[i], at, (end - begin) * edge.per_unit), at);
    }
    const Edge& result = edges_.result;
    const bool rounds = result.narrow && args.results[0] != nullptr;
    if (rounds) mine.results[0] = Ahead(Place(args, result), begin * result.per_unit);
    KernelArgs wide = args;
    wide.operands = mine.operands.data();
    wide.results = mine.results.data();
    wide.scratch = static_cast<std::byte*>(args.scratch) + edges_.bytes;
    wide.begin = begin;
    wide.end = end;
    const absl::Status status = wide_->Run(wide);
    if (status.ok() && rounds) Round(args, begin, end);
    return status;
  }

  // What units [begin, end) are of the result; the others belong to other parts.
  void Round(const KernelArgs& args, int64_t begin, int64_t end) const {
    const Edge& result = edges_.result;
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

  const Edges edges_;
  const std::unique_ptr<Kernel> wide_;
  int64_t columns_ = 0;  // of a result that is cut over them
  int results_ = 0;
  mutable std::vector<Pointers> workers_;  // each worker's own
};

}  // namespace

bool HasNarrow(const OpCall& call) {
  const auto narrow = [](const Shape& shape) { return shape.dtype == DType::kBF16; };
  return narrow(call.results[0]) || std::any_of(call.operands.begin(), call.operands.end(), narrow);
}

OpCall Widened(const OpCall& call) {
  OpCall wide = call;
  wide.attrs.Erase(kStoredIn);
  for (Shape& shape : wide.operands) {
    if (shape.dtype == DType::kBF16) shape.dtype = DType::kF32;
  }
  if (wide.results[0].dtype == DType::kBF16) wide.results[0].dtype = DType::kF32;
  return wide;
}

int64_t EdgesBytes(const OpCall& call) { return EdgesOf(call).bytes; }

std::unique_ptr<Kernel> WithEdges(const OpCall& call, std::unique_ptr<Kernel> wide) {
  return std::make_unique<EdgesKernel>(call, std::move(wide));
}

}  // namespace tpurun
