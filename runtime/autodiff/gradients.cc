#include "runtime/autodiff/gradients.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

bool Floating(const Shape& shape) {
  return shape.dtype == DType::kF32 || shape.dtype == DType::kBF16;
}

// Which nodes up to `last` depend on one of xs through floating values.
std::vector<bool> DependsOn(const Graph& graph, int last, const std::vector<Value>& xs) {
  std::vector<bool> depends(last + 1, false);
  for (const Value x : xs) {
    if (x.valid() && x.node <= last) depends[x.node] = true;
  }
  for (int id = 0; id <= last; ++id) {
    for (const Value input : graph.nodes()[id].inputs) {
      if (depends[input.node] && Floating(graph.shape(input))) depends[id] = true;
    }
  }
  return depends;
}

// A complete gradient, stored as the value that it is of, whose numbers are f32: of one in bf16
// rounded once, whatever number of readers it is the sum of.
Value StoredAs(GraphBuilder& b, Value gradient, const Shape& value) {
  if (value.dtype != DType::kBF16) return gradient;
  return Convert(b, gradient, DType::kBF16);
}

Origins BackwardOf(const Node& node) { return InPhase(node.origins, NodeOrigin::Phase::kBackward); }

}  // namespace

absl::StatusOr<std::vector<Value>> Gradients(GraphBuilder& b, Value loss,
                                             const std::vector<Value>& xs) {
  if (!loss.valid() || b.shape(loss).rank() != 0 || b.shape(loss).dtype != DType::kF32) {
    return absl::InternalError("the loss to differentiate is not f32[]");
  }
  ScopedName scope(b, "gradients");
  const std::vector<bool> depends = DependsOn(b.graph(), loss.node, xs);
  std::vector<std::vector<Value>> gradients(loss.node + 1);  // [node][result]
  for (int id = 0; id <= loss.node; ++id) gradients[id].resize(b.graph().nodes()[id].shapes.size());
  {
    const ScopedOrigins origins(b, BackwardOf(b.graph().node(loss)));
    gradients[loss.node][loss.result] = Scalar(b, 1.0);
  }
  for (int id = loss.node; id >= 0; --id) {
    const bool reached =
        std::any_of(gradients[id].begin(), gradients[id].end(), [](Value v) { return v.valid(); });
    if (!reached || !depends[id] || b.graph().nodes()[id].inputs.empty()) continue;
    const Node node = b.graph().nodes()[id];  // a copy: the graph grows below
    if (!node.op->gradient) {
      return absl::InvalidArgumentError(absl::StrCat("the loss depends on a variable through ",
                                                     node.op->name, " \"", node.name,
                                                     "\", which has no gradient"));
    }
    const ScopedName node_scope(b, absl::StrCat(node.name, "_grad"));
    const ScopedOrigins origins(b, BackwardOf(node));
    for (size_t i = 0; i < node.shapes.size(); ++i) {
      Value& gradient = gradients[id][i];
      if (gradient.valid()) gradient = StoredAs(b, gradient, node.shapes[i]);
    }
    const std::vector<Value> to_inputs = node.op->gradient(b, node, gradients[id]);
    if (!b.status().ok()) return b.status();
    // An op gives one for each operand, of the operand's shape, or none.
    TPURUN_DCHECK(to_inputs.size() == node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value input = node.inputs[i];
      TPURUN_DCHECK(!to_inputs[i].valid() || b.shape(to_inputs[i]).dims == b.shape(input).dims);
      if (!to_inputs[i].valid() || !depends[input.node]) continue;
      Value& sum = gradients[input.node][input.result];
      sum = sum.valid() ? Add(b, sum, to_inputs[i], "AddN") : to_inputs[i];
    }
  }
  if (!b.status().ok()) return b.status();
  std::vector<Value> results;
  for (const Value x : xs) {
    results.push_back(x.valid() && x.node <= loss.node ? gradients[x.node][x.result] : Value{});
  }
  return results;
}

}  // namespace tpurun
