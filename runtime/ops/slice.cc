// The ops slice, which copies a box out of an array, and pad, which copies an array into a larger
// one. Both support any dtype.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ir/typed_values.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

constexpr OpFlags kKeepsRows = {.unit = WorkUnit::kRows,
                                .row_operands = kAllOperands,
                                .commutes = kAllOperands,
                                .any_dtype = true};

absl::Status CheckBegin(const ExportCall& call) {
  if (!HasUnknown(call.attrs.Ints("begin"))) return absl::OkStatus();
  return absl::InvalidArgumentError("the batch decides where it begins");
}

// Calls f(offset of the row in the array, offset of the row in the box) for each row of the
// innermost axis of a box [begin, begin + size) in an array of `dims`. Both offsets are in
// elements.
template <typename F>
void ForEachBoxRow(const std::vector<int64_t>& dims, const std::vector<int64_t>& begin,
                   const std::vector<int64_t>& size, int64_t first_unit, int64_t last_unit, F f) {
  const size_t rank = dims.size();
  const int64_t inner = size[rank - 1];
  int64_t rows_per_unit = 1;
  for (size_t axis = 1; axis + 1 < rank; ++axis) rows_per_unit *= size[axis];
  const int64_t first = rank > 1 ? first_unit * rows_per_unit : 0;
  const int64_t last = rank > 1 ? last_unit * rows_per_unit : 1;
  for (int64_t row = first; row < last; ++row) {
    int64_t rest = row, offset = begin[rank - 1], stride = dims[rank - 1];
    for (size_t axis = rank - 1; axis-- > 0;) {
      offset += (begin[axis] + rest % size[axis]) * stride;
      rest /= size[axis];
      stride *= dims[axis];
    }
    f(offset, row * inner);
  }
}

absl::Status CheckBox(const Shape& x, const std::vector<int64_t>& begin,
                      const std::vector<int64_t>& size) {
  bool inside = begin.size() == x.dims.size() && size.size() == x.dims.size() && x.rank() > 0;
  for (size_t i = 0; inside && i < begin.size(); ++i) {
    inside = begin[i] >= 0 && size[i] >= 0 && begin[i] + size[i] <= x.dims[i];
  }
  if (inside) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("slice: begin ", DimsToString(begin), " size ",
                                                 DimsToString(size), " is not inside ",
                                                 x.ToString()));
}

// A slice along the leading axis reads other rows than it writes.
void SliceFlags(const OpCall& call, OpFlags& flags) {
  const std::vector<int64_t> begin = call.attrs.Ints("begin");
  if (begin[0] == 0 && call.operands[0].dims[0] == call.results[0].dims[0] && begin.size() > 1)
    return;
  flags.unit = WorkUnit::kWhole;
  flags.row_operands = 0;
}

// A slice of the whole of x becomes x. A slice of a slice becomes one slice.
Replacement SimplifySlice(const Graph& graph, const Node& node) {
  if (graph.shape(node.inputs[0]) == node.shapes[0]) return {.same = node.inputs[0]};
  const Node& inner = graph.node(node.inputs[0]);
  if (inner.op != node.op) return {};
  std::vector<int64_t> begin = node.attrs.Ints("begin");
  for (size_t i = 0; i < begin.size(); ++i) begin[i] += inner.attrs.Ints("begin")[i];
  const Attrs attrs = {{"begin", begin}, {"size", node.attrs.Ints("size")}};
  return {.nodes = {{node.op, inner.inputs, attrs}}};
}

// The bytes of one padding element in the dtype of x.
std::string PaddingOf(const Shape& x, const Attrs& attrs) {
  std::string element(ByteSize(x.dtype), '\0');
  StoreAs(x.dtype, attrs.Get<double>("value"), reinterpret_cast<std::byte*>(element.data()));
  return element;
}

// True if the dtype can represent `value`. A floating-point dtype rounds, so it accepts every
// value.
bool Holds(DType dtype, double value) {
  bool holds = dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kC64;
  WithType(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_floating_point_v<T>) {
      holds = std::trunc(value) == value &&
              value >= static_cast<double>(std::numeric_limits<T>::min()) &&
              value < static_cast<double>(std::numeric_limits<T>::max()) + 1;
    }
  });
  return holds;
}

absl::StatusOr<std::vector<Shape>> PadShape(std::span<const Shape> operands, const Attrs& attrs) {
  Shape y = operands[0];
  const std::vector<int64_t> before = attrs.Ints("before"), after = attrs.Ints("after");
  bool fits = y.rank() > 0 && before.size() == y.dims.size() && after.size() == y.dims.size();
  for (size_t i = 0; fits && i < before.size(); ++i) {
    fits = before[i] >= 0 && after[i] >= 0;
    y.dims[i] += before[i] + after[i];
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pad: want before and after to hold a number >= 0 for each dimension of ",
        operands[0].ToString(), ", got ", DimsToString(before), " and ", DimsToString(after)));
  }
  const double value = attrs.Get<double>("value");
  if (!Holds(y.dtype, value)) {
    return absl::InvalidArgumentError(absl::StrCat("pad: value ", ShortestText(value), " is no ",
                                                   std::string(Name(y.dtype)), " of ",
                                                   operands[0].ToString()));
  }
  return std::vector<Shape>{y};
}

// Rows stay rows if no rows are added before or after them.
void PadFlags(const OpCall& call, OpFlags& flags) {
  if (call.operands[0].dims[0] != call.results[0].dims[0]) flags.row_operands = 0;
  const double value = call.attrs.Get<double>("value");
  if (RoundToBFloat16(static_cast<float>(value)) != static_cast<float>(value)) flags.commutes = 0;
}

// Fills the rows of the result with the padding, then copies the elements of x into them.
std::unique_ptr<Kernel> PadReference(const OpCall& call) {
  std::vector<int64_t> x = call.operands[0].dims, y = call.results[0].dims;
  std::vector<int64_t> before = call.attrs.Ints("before");
  if (x.size() == 1) {  // rows of one element
    x.push_back(1);
    y.push_back(1);
    before.push_back(0);
  }
  const int64_t size = ByteSize(call.operands[0].dtype);
  const int64_t row_bytes = call.results[0].row_elements() * size;
  // The padding element, repeated to at least 4096 bytes.
  std::string padding = PaddingOf(call.operands[0], call.attrs);
  while (padding.size() < 4096) padding += padding;
  return KernelOf([=](const KernelArgs& args) {
    const auto* from = static_cast<const std::byte*>(args.operands[0]);
    auto* to = static_cast<std::byte*>(args.results[0]);
    const int64_t piece = padding.size(), end = args.end * row_bytes;
    for (int64_t at = args.begin * row_bytes; at < end; at += piece) {
      std::memcpy(to + at, padding.data(), std::min(piece, end - at));
    }
    const int64_t first = std::clamp<int64_t>(args.begin - before[0], 0, x[0]);
    const int64_t last = std::clamp<int64_t>(args.end - before[0], 0, x[0]);
    ForEachBoxRow(y, before, x, first, last, [&](int64_t outer, int64_t inner) {
      std::memcpy(to + outer * size, from + inner * size, x.back() * size);
    });
  });
}

absl::Status CheckPadding(const ExportCall& call) {
  if (!HasUnknown(call.attrs.Ints("before")) && !HasUnknown(call.attrs.Ints("after")))
    return absl::OkStatus();
  return absl::InvalidArgumentError("the batch decides how much is padded");
}

Value PaddingConstant(ExportCall& call) {
  return call.graph.Constant(
      {.type = call.type(), .bytes = PaddingOf(call.operands[0], call.attrs)}, "constant_value");
}

const OpDef& PadOp() {
  static const OpDef& op = *new OpDef{
      .name = "pad",
      .doc =
          "x with before[i] times `value` (default 0) ahead of it and after[i] times behind it "
          "along "
          "each dimension i: tf.pad, mode CONSTANT.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"before", std::vector<int64_t>{}, true},
                {"after", std::vector<int64_t>{}, true},
                {"value", 0.0}},
      .flags = kKeepsRows,
      .refine_flags = PadFlags,
      .infer_shape = PadShape,
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{
                Slice(b, dy[0], node.attrs.Ints("before"), b.shape(node.inputs[0]).dims)};
          },
      .simplify =
          [](const Graph& graph, const Node& node) {
            const bool all = graph.shape(node.inputs[0]) == node.shapes[0];
            return all ? Replacement{.same = node.inputs[0]} : Replacement{};
          },
      .reference = PadReference,
      .cost = CostOfMove,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckPadding(call));
        const std::vector<int64_t> before = call.attrs.Ints("before");
        const std::vector<int64_t> after = call.attrs.Ints("after");
        std::vector<int64_t> pairs;
        for (size_t i = 0; i < before.size(); ++i) {
          pairs.insert(pairs.end(), {before[i], after[i]});
        }
        const Value paddings = call.graph.Constant(
            ExportTensor::Int64s({static_cast<int64_t>(before.size()), 2}, pairs), "paddings");
        return std::vector<Value>{
            call.graph.Add("PadV2", {call.inputs[0], paddings, PaddingConstant(call)},
                           {{"T", call.type()}, {"Tpaddings", ElementType::kInt64}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckPadding(call));
        std::vector<int64_t> pads = call.attrs.Ints("before");
        const std::vector<int64_t> after = call.attrs.Ints("after");
        pads.insert(pads.end(), after.begin(), after.end());
        const Value paddings = call.graph.Int64s(pads, "pads");
        return std::vector<Value>{
            call.graph.Add("Pad", {call.inputs[0], paddings, PaddingConstant(call)})};
      }};
  return op;
}

const OpDef& SliceOp() {
  static const OpDef& op = *new OpDef{
      .name = "slice",
      .doc = "The box of `size` at `begin` of x.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"begin", std::vector<int64_t>{}, true}, {"size", std::vector<int64_t>{}, true}},
      .flags = kKeepsRows,
      .refine_flags = SliceFlags,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        RETURN_IF_ERROR(CheckBox(operands[0], attrs.Ints("begin"), attrs.Ints("size")));
        return std::vector<Shape>{Shape{operands[0].dtype, attrs.Ints("size")}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            const std::vector<int64_t> begin = node.attrs.Ints("begin");
            std::vector<int64_t> after = b.shape(node.inputs[0]).dims;
            for (size_t i = 0; i < after.size(); ++i) after[i] -= begin[i] + node.shapes[0].dims[i];
            return std::vector<Value>{
                b.Add(PadOp(), {dy[0]}, {{"before", begin}, {"after", after}})};
          },
      .simplify = SimplifySlice,
      .reference =
          [](const OpCall& call) {
            const Shape x = call.operands[0], y = call.results[0];
            const std::vector<int64_t> begin = call.attrs.Ints("begin");
            OpFlags flags = kKeepsRows;
            SliceFlags(call, flags);
            const bool whole = flags.unit == WorkUnit::kWhole;
            return KernelOf([=](const KernelArgs& args) {
              const int64_t size = ByteSize(x.dtype);
              const auto* from = static_cast<const std::byte*>(args.operands[0]);
              auto* to = static_cast<std::byte*>(args.results[0]);
              ForEachBoxRow(x.dims, begin, y.dims, whole ? 0 : args.begin,
                            whole ? y.dims[0] : args.end, [&](int64_t outer, int64_t inner) {
                              std::memcpy(to + inner * size, from + outer * size,
                                          y.dims.back() * size);
                            });
            });
          },
      // A size of -1, the batch size, takes all entries that are left.
      .cost = [](const OpCall&, Cost& cost) { cost.bytes_read = cost.bytes_written; },
      .tpu = [](const OpCall& call) -> TpuWork {
        return {.stages = {{.partial_reads = OperandArrays(call),
                            .writes = ResultArrays(call),
                            .extra_bytes = CostOf(call).bytes_read}}};
      },
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckBegin(call));
        return std::vector<Value>{
            call.graph.Add("Slice",
                           {call.inputs[0], call.graph.Int64s(call.attrs.Ints("begin"), "begin"),
                            call.graph.Int64s(call.attrs.Ints("size"), "size")},
                           {{"T", call.type()}, {"Index", ElementType::kInt64}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckBegin(call));
        const std::vector<int64_t> begin = call.attrs.Ints("begin");
        std::vector<int64_t> ends = call.attrs.Ints("size");
        for (size_t i = 0; i < ends.size(); ++i) {
          ends[i] = ends[i] < 0 ? std::numeric_limits<int64_t>::max() : ends[i] + begin[i];
        }
        return std::vector<Value>{call.graph.Add(
            "Slice",
            {call.inputs[0], call.graph.Int64s(begin, "starts"), call.graph.Int64s(ends, "ends")})};
      }};
  return op;
}

}  // namespace

std::vector<const OpDef*> SliceOps() { return {&SliceOp(), &PadOp()}; }

bool IsSlice(const Node& node) { return node.op == &SliceOp(); }

Value Slice(GraphBuilder& b, Value x, std::vector<int64_t> begin, std::vector<int64_t> size) {
  return b.Add(SliceOp(), {x}, {{"begin", std::move(begin)}, {"size", std::move(size)}});
}

Value Pad(GraphBuilder& b, Value x, std::vector<int64_t> before, std::vector<int64_t> after) {
  return b.Add(PadOp(), {x},
               {{"before", std::move(before)}, {"after", std::move(after)}, {"value", 0.0}});
}

}  // namespace tpurun
