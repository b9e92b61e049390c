// The op transpose: changes the order of dimensions.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/strided_copy.h"

namespace tpurun {
namespace {

bool IsInOrder(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Dimension i of the result is dimension perm[i] of x.
template <typename T>
std::vector<T> Permuted(const std::vector<T>& of_x, const std::vector<int64_t>& perm) {
  std::vector<T> of_result;
  for (const int64_t axis : perm) of_result.push_back(of_x[axis]);
  return of_result;
}

std::vector<int64_t> Inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
  return inverse;
}

// True if no element moves: the dimensions with more than one entry stay in their order.
bool MovesNothing(const std::vector<int64_t>& dims, const std::vector<int64_t>& perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (dims[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

absl::StatusOr<std::vector<Shape>> TransposeShape(std::span<const Shape> operands,
                                                  const Attrs& attrs) {
  const Shape& x = operands[0];
  const std::vector<int64_t> perm = attrs.Ints("perm");
  std::vector<int64_t> axes = perm;
  std::sort(axes.begin(), axes.end());
  bool all = axes.size() == x.dims.size();
  for (size_t i = 0; all && i < axes.size(); ++i) all = axes[i] == static_cast<int64_t>(i);
  if (!all) {
    return absl::InvalidArgumentError(absl::StrCat("transpose: want the dimensions of ",
                                                   x.ToString(), ", each once, got perm ",
                                                   DimsToString(perm)));
  }
  return std::vector<Shape>{Shape{x.dtype, Permuted(x.dims, perm)}};
}

void TransposeFlags(const OpCall& call, OpFlags& flags) {
  const std::vector<int64_t> perm = call.attrs.Ints("perm");
  if (perm.empty()) flags.unit = WorkUnit::kWhole;
  if (perm.empty() || perm[0] != 0) flags.row_operands = 0;
}

// A transpose without a change of the order becomes x. If no element moves, it becomes a reshape of
// x. Two transposes become one.
Replacement SimplifyTranspose(const Graph& graph, const Node& node) {
  const std::vector<int64_t> perm = node.attrs.Ints("perm");
  if (IsInOrder(perm)) return {.same = node.inputs[0]};
  if (MovesNothing(graph.shape(node.inputs[0]).dims, perm)) {
    static const OpDef& reshape = OpOfFamily(ArrayOps(), "reshape");
    return {.nodes = {{&reshape, node.inputs, {{"dims", node.shapes[0].dims}}}}};
  }
  const Node& inner = graph.node(node.inputs[0]);
  if (inner.op != node.op) return {};
  return {.nodes = {{node.op, inner.inputs, {{"perm", Permuted(inner.attrs.Ints("perm"), perm)}}}}};
}

std::vector<int64_t> StridesOfTransposed(const OpCall& call) {
  return Permuted(StridesOf(call.operands[0].dims), call.attrs.Ints("perm"));
}

const OpDef& TransposeOp() {
  static const OpDef& op = *new OpDef{
      .name = "transpose",
      .doc = "x with its dimensions in another order: dimension i is dimension perm[i] of x.",
      .min_operands = 1,
      .max_operands = 1,
      .attrs = {{"perm", std::vector<int64_t>{}, true}},
      .flags = {.unit = WorkUnit::kRows,
                .row_operands = kAllOperands,
                .commutes = kAllOperands,
                .copies_elements = true,
                .any_dtype = true},
      .refine_flags = TransposeFlags,
      .infer_shape = TransposeShape,
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{Transpose(b, dy[0], Inverse(node.attrs.Ints("perm")))};
          },
      .simplify = SimplifyTranspose,
      .reference =
          [](const OpCall& call) {
            return StridedCopyReference(call.results[0], StridesOfTransposed(call));
          },
      .kernels = {StridedCopyKernel(StridesOfTransposed)},
      .cost = CostOfMove,
      .tpu = OneTpuStage<TpuStage::Kind::kAlone>,
      .tensorflow = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        const Value perm = call.graph.Int64s(call.attrs.Ints("perm"), "perm");
        return std::vector<Value>{
            call.graph.Add("Transpose", {call.inputs[0], perm},
                           {{"T", call.type()}, {"Tperm", ElementType::kInt64}})};
      },
      .onnx = [](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
        return std::vector<Value>{
            call.graph.Add("Transpose", call.inputs, {{"perm", call.attrs.Ints("perm")}})};
      }};
  return op;
}

}  // namespace

std::vector<const OpDef*> TransposeOps() { return {&TransposeOp()}; }

Value Transpose(GraphBuilder& b, Value x, std::vector<int64_t> perm, const std::string& label) {
  if (x.valid() && IsInOrder(perm) && b.shape(x).dims.size() == perm.size()) return x;
  return b.Add(TransposeOp(), {x}, {{"perm", std::move(perm)}}, label);
}

}  // namespace tpurun
