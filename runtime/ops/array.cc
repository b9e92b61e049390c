// Ops that move elements and change none. They carry any dtype.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/typed_values.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/strided_copy.h"

namespace tpurun {
namespace {

constexpr OpFlags kMovesRows = {.unit = WorkUnit::kRows,
                                .row_operands = kAllOperands,
                                .commutes = kAllOperands,
                                .any_dtype = true};

constexpr OpFlags kRepeats = {.unit = WorkUnit::kRows,
                              .row_operands = kAllOperands,
                              .commutes = kAllOperands,
                              .repeats = true,
                              .any_dtype = true};

constexpr OpFlags kReshapes = {.unit = WorkUnit::kRows,
                               .row_operands = kAllOperands,
                               .commutes = kAllOperands,
                               .repeats = true,
                               .in_order = true,
                               .any_dtype = true};

double NoFlops(const OpCall&) { return 0; }

int64_t Product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

// One dimension at most may be the batch's: what it is follows from the number of elements.
absl::Status CheckReshape(const std::vector<int64_t>& dims) {
  if (std::count(dims.begin(), dims.end(), -1) < 2) return absl::OkStatus();
  return absl::InvalidArgumentError("the batch decides more than one dimension");
}

absl::Status CheckBegin(const ExportCall& call) {
  if (!HasUnknown(call.attrs.Ints("begin"))) return absl::OkStatus();
  return absl::InvalidArgumentError("the batch decides where it begins");
}

Value TensorFlowReshape(ExportCall& call, Value x, const std::vector<int64_t>& dims) {
  return call.graph.Add("Reshape", {x, call.graph.Int64s(dims, "shape")},
                        {{"T", call.type()}, {"Tshape", ElementType::kInt64}});
}

// The dimensions of x with a 1 for each of the result that it does not have.
std::vector<int64_t> WithOnes(const ExportCall& call) {
  std::vector<int64_t> dims(call.results[0].rank(), 1);
  const std::vector<int64_t> axes = call.attrs.Ints("axes");
  for (size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = call.operands[0].dims[i];
  return dims;
}

// How often x repeats along each dimension of the result.
absl::StatusOr<std::vector<int64_t>> Repeats(const ExportCall& call) {
  std::vector<int64_t> repeats = call.results[0].dims;
  for (const int64_t axis : call.attrs.Ints("axes")) repeats[axis] = 1;
  if (HasUnknown(repeats)) {
    return absl::InvalidArgumentError("a value without a batch is repeated for each example");
  }
  return repeats;
}

// The only operand, when it is all there is of the result.
Simpler SameAsOperand(const Graph& graph, const Node& node) {
  const bool all = node.inputs.size() == 1 && graph.shape(node.inputs[0]) == node.shapes[0];
  return all ? Simpler{.same = node.inputs[0]} : Simpler{};
}

absl::StatusOr<std::vector<Shape>> ConcatShape(std::span<const Shape> operands,
                                               const Attrs& attrs) {
  const int64_t axis = attrs.Int("axis");
  Shape result = operands[0];
  if (axis < 0 || axis >= result.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("concat: axis ", axis, " of ", result.ToString(), " does not exist"));
  }
  result.dims[axis] = 0;
  for (const Shape& operand : operands) {
    bool fits = operand.dtype == result.dtype && operand.rank() == result.rank();
    for (int i = 0; fits && i < result.rank(); ++i)
      fits = i == axis || operand.dims[i] == result.dims[i];
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("concat: ", operands[0].ToString(), " and ",
                                                     operand.ToString(), " do not fit along axis ",
                                                     axis));
    }
    result.dims[axis] += operand.dims[axis];
  }
  return std::vector<Shape>{result};
}

std::unique_ptr<Kernel> ConcatKernel(const OpCall& call) {
  const size_t axis = call.attrs.Int("axis");
  const int64_t size = ByteSize(call.results[0].dtype);
  const auto& dims = call.results[0].dims;
  const int64_t row_bytes = Product(dims, axis, dims.size()) * size;
  // A row is everything from the axis inwards; a unit of work is an entry of the leading dimension.
  const int64_t rows_per_unit = axis == 0 ? 1 : Product(dims, 1, axis);
  std::vector<int64_t> widths;
  for (const Shape& operand : call.operands) {
    widths.push_back(Product(operand.dims, axis, dims.size()) * size);
  }
  return KernelOf([=](const KernelArgs& args) {
    std::byte* out = static_cast<std::byte*>(args.results[0]);
    const int64_t begin = axis == 0 ? 0 : args.begin * rows_per_unit;
    const int64_t end = axis == 0 ? 1 : args.end * rows_per_unit;
    for (int64_t row = begin; row < end; ++row) {
      std::byte* to = out + row * row_bytes;
      for (size_t i = 0; i < widths.size(); ++i) {
        std::memcpy(to, static_cast<const std::byte*>(args.operands[i]) + row * widths[i],
                    widths[i]);
        to += widths[i];
      }
    }
  });
}

// Not along the leading axis: then the whole is one unit.
void ConcatFlags(const OpCall& call, OpFlags& flags) {
  if (call.attrs.Int("axis") != 0) return;
  flags.unit = WorkUnit::kWhole;
  flags.row_operands = 0;
}

const OpDef& ConcatOp() {
  static const OpDef& op =
      *new OpDef{.name = "concat",
                 .doc = "The operands one after the other along `axis`.",
                 .min_operands = 1,
                 .max_operands = -1,
                 .attrs = {{"axis", int64_t{0}, true}},
                 .flags = kMovesRows,
                 .refine_flags = ConcatFlags,
                 .infer_shape = ConcatShape,
                 .gradient =
                     [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
                       std::vector<Value> gradients;
                       std::vector<int64_t> begin(b.shape(dy[0]).rank(), 0);
                       for (const Value input : node.inputs) {
                         const std::vector<int64_t> size = b.shape(input).dims;
                         gradients.push_back(Slice(b, dy[0], begin, size));
                         begin[node.attrs.Int("axis")] += size[node.attrs.Int("axis")];
                       }
                       return gradients;
                     },
                 .simplify = SameAsOperand,
                 .reference = ConcatKernel,
                 .flops = NoFlops,
                 .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
                   // ConcatV2 wants two at least.
                   if (call.inputs.size() == 1) return TensorFlowOp("Identity")(call);
                   std::vector<Value> inputs = call.inputs;
                   inputs.push_back(call.graph.Int64(call.attrs.Int("axis"), "axis"));
                   return std::vector<Value>{
                       call.graph.Add("ConcatV2", inputs,
                                      {{"T", call.type()},
                                       {"Tidx", ElementType::kInt64},
                                       {"N", static_cast<int64_t>(call.inputs.size())}})};
                 },
                 .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
                   return std::vector<Value>{
                       call.graph.Add("Concat", call.inputs, {{"axis", call.attrs.Int("axis")}})};
                 }};
  return op;
}

// Walks the rows of the innermost axis of a box [begin, begin + size) in an array of `dims` and
// calls f(offset of the row in the array, offset in the box), both in elements.
template <typename F>
void ForEachBoxRow(const std::vector<int64_t>& dims, const std::vector<int64_t>& begin,
                   const std::vector<int64_t>& size, int64_t first_unit, int64_t last_unit, F f) {
  const size_t rank = dims.size();
  const int64_t inner = size[rank - 1];
  const int64_t rows_per_unit = rank > 1 ? Product(size, 1, rank - 1) : 1;
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

// A slice of whole rows from another place reads other rows than it writes.
void SliceFlags(const OpCall& call, OpFlags& flags) {
  const std::vector<int64_t> begin = call.attrs.Ints("begin");
  if (begin[0] == 0 && call.operands[0].dims[0] == call.results[0].dims[0] && begin.size() > 1)
    return;
  flags.unit = WorkUnit::kWhole;
  flags.row_operands = 0;
}

// All of x: x. A slice of a slice: one slice.
Simpler SimplerSlice(const Graph& graph, const Node& node) {
  if (graph.shape(node.inputs[0]) == node.shapes[0]) return {.same = node.inputs[0]};
  const Node& inner = graph.node(node.inputs[0]);
  if (inner.op != node.op) return {};
  std::vector<int64_t> begin = node.attrs.Ints("begin");
  for (size_t i = 0; i < begin.size(); ++i) begin[i] += inner.attrs.Ints("begin")[i];
  const Attrs attrs = {{"begin", begin}, {"size", node.attrs.Ints("size")}};
  return {.nodes = {{node.op, inner.inputs, attrs}}};
}

// What pads x, as one element of its dtype.
std::string PaddingOf(const Shape& x, const Attrs& attrs) {
  std::string element(ByteSize(x.dtype), '\0');
  StoreAs(x.dtype, attrs.Get<double>("value"), reinterpret_cast<std::byte*>(element.data()));
  return element;
}

// Whether `value` is a number of the dtype: of a floating one, which rounds it, any.
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

// Rows stay rows where none come before or behind them.
void PadFlags(const OpCall& call, OpFlags& flags) {
  if (call.operands[0].dims[0] != call.results[0].dims[0]) flags.row_operands = 0;
  const double value = call.attrs.Get<double>("value");
  if (RoundToBFloat16(static_cast<float>(value)) != static_cast<float>(value)) flags.commutes = 0;
}

// Each row of the result: the padding, and what of x lies in it.
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
  // Copied as often as it fits.
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
      .flags = kMovesRows,
      .refine_flags = PadFlags,
      .infer_shape = PadShape,
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{
                Slice(b, dy[0], node.attrs.Ints("before"), b.shape(node.inputs[0]).dims)};
          },
      .simplify = SameAsOperand,
      .reference = PadReference,
      .flops = NoFlops,
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
      .flags = kMovesRows,
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
      .simplify = SimplerSlice,
      .reference =
          [](const OpCall& call) {
            const Shape x = call.operands[0], y = call.results[0];
            const std::vector<int64_t> begin = call.attrs.Ints("begin");
            OpFlags flags = kMovesRows;
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
      // A size of -1, the batch's, is all that is left.
      .flops = NoFlops,
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

// The leading dimension kept: rows stay rows.
void ReshapeFlags(const OpCall& call, OpFlags& flags) {
  const Shape &x = call.operands[0], &y = call.results[0];
  flags.keeps_column_sums = x.rank() > 0 && y.rank() > 0 && x.dims.back() == y.dims.back();
  if (x.rank() > 0 && y.rank() > 0 && x.dims[0] == y.dims[0]) return;
  flags.unit = WorkUnit::kElements;
  flags.row_operands = 0;
}

const OpDef& ReshapeOp() {
  static const OpDef& op = *new OpDef{
      .name = "reshape",
      .doc = "x with the same elements in the same order and other dimensions `dims`.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"dims", std::vector<int64_t>{}, true}},
      .flags = kReshapes,
      .refine_flags = ReshapeFlags,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const Shape result{operands[0].dtype, attrs.Ints("dims")};
        if (result.num_elements() != operands[0].num_elements()) {
          return absl::InvalidArgumentError(absl::StrCat(
              "reshape: ", operands[0].ToString(), " has ", operands[0].num_elements(),
              " elements, ", DimsToString(result.dims), " wants ", result.num_elements()));
        }
        return std::vector<Shape>{result};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{Reshape(b, dy[0], b.shape(node.inputs[0]).dims)};
          },
      .simplify = [](const Graph& graph, const Node& node) -> Simpler {
        const Node& inner = graph.node(node.inputs[0]);
        if (graph.shape(node.inputs[0]) == node.shapes[0]) return {.same = node.inputs[0]};
        if (inner.op == &ReshapeOp()) return {.nodes = {{node.op, inner.inputs, node.attrs}}};
        if (inner.op == &VariableOp()) {
          Attrs attrs = inner.attrs;
          attrs.Set("dims", node.shapes[0].dims);
          return {.nodes = {{inner.op, {}, std::move(attrs)}}};
        }
        return {};
      },
      .reference =
          [](const OpCall& call) {
            OpFlags flags = kReshapes;
            ReshapeFlags(call, flags);
            const int64_t unit =
                (flags.unit == WorkUnit::kRows ? call.results[0].row_elements() : 1) *
                ByteSize(call.results[0].dtype);
            return KernelOf([unit](const KernelArgs& args) {
              std::memcpy(static_cast<std::byte*>(args.results[0]) + args.begin * unit,
                          static_cast<const std::byte*>(args.operands[0]) + args.begin * unit,
                          (args.end - args.begin) * unit);
            });
          },
      .flops = NoFlops,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckReshape(call.results[0].dims));
        return std::vector<Value>{TensorFlowReshape(call, call.inputs[0], call.results[0].dims)};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckReshape(call.results[0].dims));
        return std::vector<Value>{call.graph.Add(
            "Reshape", {call.inputs[0], call.graph.Int64s(call.results[0].dims, "shape")})};
      }};
  return op;
}

// dx: dy summed over the dimensions that x does not have.
std::vector<Value> BroadcastGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const std::vector<int64_t> kept = node.attrs.Ints("axes");
  std::vector<int64_t> summed;
  for (int64_t axis = 0; axis < b.shape(dy[0]).rank(); ++axis) {
    if (std::find(kept.begin(), kept.end(), axis) == kept.end()) summed.push_back(axis);
  }
  return {summed.empty() ? dy[0] : ReduceSum(b, dy[0], summed)};
}

// To its own shape: x. Twice: at once, along the axes of the axes.
Simpler SimplerBroadcast(const Graph& graph, const Node& node) {
  if (graph.shape(node.inputs[0]) == node.shapes[0]) return {.same = node.inputs[0]};
  const Node& inner = graph.node(node.inputs[0]);
  if (inner.op != node.op) return {};
  const std::vector<int64_t> outer_axes = node.attrs.Ints("axes");
  std::vector<int64_t> axes;
  for (const int64_t axis : inner.attrs.Ints("axes")) axes.push_back(outer_axes[axis]);
  const Attrs attrs = {{"dims", node.attrs.Ints("dims")}, {"axes", axes}};
  return {.nodes = {{node.op, inner.inputs, attrs}}};
}

void BroadcastFlags(const OpCall& call, OpFlags& flags) {
  const std::vector<int64_t> axes = call.attrs.Ints("axes");
  if (call.results[0].rank() == 0) flags.unit = WorkUnit::kWhole;
  if (axes.empty() || axes[0] != 0) flags.row_operands = 0;
}

// 0 along the dimensions that x does not have.
std::vector<int64_t> StridesOfRepeated(const OpCall& call) {
  const std::vector<int64_t> axes = call.attrs.Ints("axes");
  const std::vector<int64_t> of_x = StridesOf(call.operands[0].dims);
  std::vector<int64_t> strides(call.results[0].rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) strides[axes[i]] = of_x[i];
  return strides;
}

const OpDef& BroadcastOp() {
  static const OpDef& op = *new OpDef{
      .name = "broadcast",
      .doc =
          "x repeated to `dims`: dimension i of x lies along dimension axes[i] (rising) of the "
          "result.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"dims", std::vector<int64_t>{}, true}, {"axes", std::vector<int64_t>{}, true}},
      .flags = kRepeats,
      .refine_flags = BroadcastFlags,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const std::vector<int64_t> dims = attrs.Ints("dims"), axes = attrs.Ints("axes");
        bool fits = axes.size() == operands[0].dims.size();
        for (size_t i = 0; fits && i < axes.size(); ++i) {
          fits = axes[i] >= 0 && axes[i] < static_cast<int64_t>(dims.size()) &&
                 (i == 0 || axes[i] > axes[i - 1]) && operands[0].dims[i] == dims[axes[i]];
        }
        if (!fits) {
          return absl::InvalidArgumentError(absl::StrCat("broadcast: ", operands[0].ToString(),
                                                         " does not lie along ", DimsToString(axes),
                                                         " of ", DimsToString(dims)));
        }
        return std::vector<Shape>{Shape{operands[0].dtype, dims}};
      },
      .gradient = BroadcastGradient,
      .simplify = SimplerBroadcast,
      .reference =
          [](const OpCall& call) {
            return StridedCopyReference(call.results[0], StridesOfRepeated(call));
          },
      .plan = [](const OpCall&, const Machine&) { return PlanStridedCopy(); },
      .make_kernel =
          [](const OpCall& call, const KernelPlan& plan) {
            return MakeStridedCopy(call.results[0], StridesOfRepeated(call), plan);
          },
      .flops = NoFlops,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, Repeats(call));
        const Value x = TensorFlowReshape(call, call.inputs[0], WithOnes(call));
        return std::vector<Value>{
            call.graph.Add("Tile", {x, call.graph.Int64s(repeats, "multiples")},
                           {{"T", call.type()}, {"Tmultiples", ElementType::kInt64}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, Repeats(call));
        const Value x =
            call.graph.Add("Reshape", {call.inputs[0], call.graph.Int64s(WithOnes(call), "shape")});
        return std::vector<Value>{
            call.graph.Add("Tile", {x, call.graph.Int64s(repeats, "repeats")})};
      }};
  return op;
}

}  // namespace

std::vector<const OpDef*> ArrayOps() {
  return {&ConcatOp(), &SliceOp(), &PadOp(), &ReshapeOp(), &BroadcastOp()};
}

bool IsSlice(const Node& node) { return node.op == &SliceOp(); }
bool IsReshape(const Node& node) { return node.op == &ReshapeOp(); }

Value Concat(GraphBuilder& b, const std::vector<Value>& inputs, int64_t axis,
             const std::string& label) {
  return b.Add(ConcatOp(), inputs, {{"axis", axis}}, label);
}

Value Slice(GraphBuilder& b, Value x, std::vector<int64_t> begin, std::vector<int64_t> size) {
  return b.Add(SliceOp(), {x}, {{"begin", std::move(begin)}, {"size", std::move(size)}});
}

Value Reshape(GraphBuilder& b, Value x, std::vector<int64_t> dims, const std::string& label) {
  if (x.valid() && b.shape(x).dims == dims) return x;
  return b.Add(ReshapeOp(), {x}, {{"dims", std::move(dims)}}, label);
}

Value Broadcast(GraphBuilder& b, Value x, std::vector<int64_t> dims, std::vector<int64_t> axes) {
  return b.Add(BroadcastOp(), {x}, {{"dims", std::move(dims)}, {"axes", std::move(axes)}});
}

Value AlongRows(GraphBuilder& b, Value x, const std::vector<int64_t>& dims) {
  std::vector<int64_t> kept(dims.size() - 1);
  std::iota(kept.begin(), kept.end(), int64_t{0});
  return Broadcast(b, x, dims, kept);
}

}  // namespace tpurun
