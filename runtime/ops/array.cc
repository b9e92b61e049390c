// Ops that move elements without changing them, for any dtype.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/tpu_stages.h"
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
                              .copies_elements = true,
                              .any_dtype = true};

constexpr OpFlags kReshapes = {.unit = WorkUnit::kRows,
                               .row_operands = kAllOperands,
                               .commutes = kAllOperands,
                               .copies_elements = true,
                               .is_bitcast = true,
                               .any_dtype = true};

int64_t Product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

// InvalidArgument if the batch size decides more than one dimension. A single one follows from the
// number of elements.
absl::Status CheckReshape(const std::vector<int64_t>& dims) {
  if (std::count(dims.begin(), dims.end(), -1) < 2) return absl::OkStatus();
  return absl::InvalidArgumentError("the batch decides more than one dimension");
}

Value TensorFlowReshape(ExportCall& call, Value x, const std::vector<int64_t>& dims) {
  return call.graph.Add("Reshape", {x, call.graph.Int64s(dims, "shape")},
                        {{"T", call.type()}, {"Tshape", ElementType::kInt64}});
}

// The dimensions of x, with a 1 for each dimension of the result that x does not have.
std::vector<int64_t> WithOnes(const ExportCall& call) {
  std::vector<int64_t> dims(call.results[0].rank(), 1);
  const std::vector<int64_t> axes = call.attrs.Ints("axes");
  for (size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = call.operands[0].dims[i];
  return dims;
}

// The number of repetitions of x along each dimension of the result.
absl::StatusOr<std::vector<int64_t>> Repeats(const ExportCall& call) {
  std::vector<int64_t> repeats = call.results[0].dims;
  for (const int64_t axis : call.attrs.Ints("axes")) repeats[axis] = 1;
  if (HasUnknown(repeats)) {
    return absl::InvalidArgumentError("a value without a batch is repeated for each example");
  }
  return repeats;
}

// Replaces the node by its operand if the operand is the only one and has the shape of the result.
Replacement SameAsOperand(const Graph& graph, const Node& node) {
  const bool all = node.inputs.size() == 1 && graph.shape(node.inputs[0]) == node.shapes[0];
  return all ? Replacement{.same = node.inputs[0]} : Replacement{};
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

// Copies `count` pieces of `bytes` bytes to addresses that are `stride` bytes apart.
void CopyPieces(const std::byte* from, int64_t bytes, int64_t count, std::byte* to,
                int64_t stride) {
  const auto copy = [&](auto size) {
    for (int64_t i = 0; i < count; ++i, from += size, to += stride) std::memcpy(to, from, size);
  };
  // A single number is copied without a call.
  if (bytes == sizeof(float)) return copy(std::integral_constant<int64_t, sizeof(float)>());
  copy(bytes);
}

std::unique_ptr<Kernel> ConcatKernel(const OpCall& call) {
  const size_t axis = call.attrs.Int("axis");
  const int64_t size = ByteSize(call.results[0].dtype);
  const auto& dims = call.results[0].dims;
  const int64_t row_bytes = Product(dims, axis, dims.size()) * size;
  // A row has all dimensions from the axis inwards. A unit of work is an entry of the leading
  // dimension.
  const int64_t rows_per_unit = axis == 0 ? 1 : Product(dims, 1, axis);
  std::vector<int64_t> widths;
  for (const Shape& operand : call.operands) {
    widths.push_back(Product(operand.dims, axis, dims.size()) * size);
  }
  return KernelOf([=](const KernelArgs& args) {
    std::byte* out = static_cast<std::byte*>(args.results[0]);
    const int64_t begin = axis == 0 ? 0 : args.begin * rows_per_unit;
    const int64_t end = axis == 0 ? 1 : args.end * rows_per_unit;
    std::byte* to = out + begin * row_bytes;
    for (size_t i = 0; i < widths.size(); to += widths[i], ++i) {
      CopyPieces(static_cast<const std::byte*>(args.operands[i]) + begin * widths[i], widths[i],
                 end - begin, to, row_bytes);
    }
  });
}

// A concatenation along the leading axis is one unit of work.
void ConcatFlags(const OpCall& call, OpFlags& flags) {
  if (call.attrs.Int("axis") != 0) return;
  flags.unit = WorkUnit::kWhole;
  flags.row_operands = 0;
}

const OpDef& ConcatOp() {
  static const OpDef& op = *new OpDef{
      .name = "concat",
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
      .cost = CostOfMove,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        // ConcatV2 needs at least two operands.
        if (call.inputs.size() == 1) return TensorFlowOp("Identity")(call);
        std::vector<Value> inputs = call.inputs;
        inputs.push_back(call.graph.Int32(static_cast<int32_t>(call.attrs.Int("axis")), "axis"));
        return std::vector<Value>{
            call.graph.Add("ConcatV2", inputs,
                           {{"T", call.type()},
                            {"Tidx", ElementType::kInt32},
                            {"N", static_cast<int64_t>(call.inputs.size())}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{
            call.graph.Add("Concat", call.inputs, {{"axis", call.attrs.Int("axis")}})};
      }};
  return op;
}

// If the leading dimension stays the same, rows stay rows.
void ReshapeFlags(const OpCall& call, OpFlags& flags) {
  const Shape &x = call.operands[0], &y = call.results[0];
  if (x.rank() > 0 && y.rank() > 0 && x.dims[0] == y.dims[0]) return;
  flags.unit = WorkUnit::kElements;
  flags.row_operands = 0;
}

bool KeepsColumns(const OpCall& call) {
  const Shape &x = call.operands[0], &y = call.results[0];
  return x.rank() > 0 && y.rank() > 0 && x.dims.back() == y.dims.back();
}

// A tile holds entries of the two minor dimensions. While these are the same, or both have whole
// tiles of rows, the array stays where it is.
TpuWork Reshaped(const OpCall& call) {
  const auto rows = [](const Shape& x) { return x.rank() < 2 ? 1 : x.dims[x.rank() - 2]; };
  const Shape &x = call.operands[0], &y = call.results[0];
  const bool stays =
      KeepsColumns(call) &&
      (rows(x) == rows(y) || (rows(x) % kTpuSublanes == 0 && rows(y) % kTpuSublanes == 0));
  if (stays || x.num_elements() == 1) return {};
  return OneTpuStage<TpuStage::Kind::kAlone>(call);
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
      .simplify = [](const Graph& graph, const Node& node) -> Replacement {
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
      .cost = CostOfMove,
      .tpu = Reshaped,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckReshape(call.results[0].dims));
        return std::vector<Value>{TensorFlowReshape(call, call.inputs[0], call.results[0].dims)};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        RETURN_IF_ERROR(CheckReshape(call.results[0].dims));
        return std::vector<Value>{call.graph.Add(
            "Reshape", {call.inputs[0], call.graph.Int64s(call.results[0].dims, "shape")})};
      },
      .rules = {.keeps_column_sums = KeepsColumns}};
  return op;
}

// dx is dy summed over the dimensions that x does not have.
std::vector<Value> BroadcastGradient(GraphBuilder& b, const Node& node, std::span<const Value> dy) {
  const std::vector<int64_t> kept = node.attrs.Ints("axes");
  std::vector<int64_t> summed;
  for (int64_t axis = 0; axis < b.shape(dy[0]).rank(); ++axis) {
    if (std::find(kept.begin(), kept.end(), axis) == kept.end()) summed.push_back(axis);
  }
  return {summed.empty() ? dy[0] : ReduceSum(b, dy[0], summed)};
}

// A broadcast to the shape of x becomes x. Two broadcasts become one along the composed axes.
Replacement SimplifyBroadcast(const Graph& graph, const Node& node) {
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

// The strides of x in elements, 0 along the dimensions that x does not have.
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
      .simplify = SimplifyBroadcast,
      .reference =
          [](const OpCall& call) {
            return StridedCopyReference(call.results[0], StridesOfRepeated(call));
          },
      .kernels = {StridedCopyKernel(StridesOfRepeated)},
      .cost = CostOfMove,
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

std::vector<const OpDef*> ArrayOps() { return {&ConcatOp(), &ReshapeOp(), &BroadcastOp()}; }

bool IsReshape(const Node& node) { return node.op == &ReshapeOp(); }

Value Concat(GraphBuilder& b, const std::vector<Value>& inputs, int64_t axis,
             const std::string& label) {
  return b.Add(ConcatOp(), inputs, {{"axis", axis}}, label);
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
