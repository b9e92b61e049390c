#include "runtime/compiler/simplify.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// The scalar that is every element of `value`; `value` itself where there is none.
absl::StatusOr<Value> ScalarOf(Graph& graph, Value value) {
  const Node& node = graph.node(value);
  if (graph.shape(value).rank() == 0) return value;
  if (node.op->flags.repeats) {
    ASSIGN_OR_RETURN(const Value scalar, ScalarOf(graph, node.inputs[0]));
    return graph.shape(scalar).rank() == 0 ? scalar : value;
  }
  const size_t elements = std::max(node.attrs.Get<std::vector<double>>("value").size(),
                                   node.attrs.Ints("value_int").size());
  if (node.op != &ConstantOp() || elements != 1) return value;
  Attrs attrs = node.attrs;
  attrs.Set("dims", std::vector<int64_t>{});
  const std::string name = node.name;
  return graph.AddNode(ConstantOp(), {}, std::move(attrs), name);
}

// Scalars go with every element: takes them where they will do, but for one operand that gives the
// result its shape.
absl::Status UseScalars(Graph& graph, Node& node) {
  if (!node.op->flags.elementwise || node.shapes[0].rank() == 0) return absl::OkStatus();
  const auto full = [&] {
    return std::count_if(node.inputs.begin(), node.inputs.end(),
                         [&](Value input) { return graph.shape(input).rank() > 0; });
  };
  for (size_t i = 0; i < node.inputs.size() && full() > 1; ++i) {
    ASSIGN_OR_RETURN(node.inputs[i], ScalarOf(graph, node.inputs[i]));
  }
  return absl::OkStatus();
}

// The value in the new graph that stands for `node`, whose operands are in it.
absl::StatusOr<Value> Simplest(Graph& graph, Node node) {
  RETURN_IF_ERROR(UseScalars(graph, node));
  while (node.op->simplify) {
    Simpler simpler = node.op->simplify(graph, node);
    if (simpler.same.valid()) return simpler.same;
    if (simpler.inputs.empty()) break;
    node.inputs = std::move(simpler.inputs);
    node.attrs = std::move(simpler.attrs);
  }
  return graph.AddNode(*node.op, node.inputs, node.attrs, node.name);
}

}  // namespace

absl::StatusOr<Graph> Simplify(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const Node& old : graph.nodes()) {
    if (old.shapes.size() != 1) {
      RETURN_IF_ERROR(rewrite.Copy(old));
      continue;
    }
    Node node = old;
    node.inputs = rewrite.At(old.inputs);
    ASSIGN_OR_RETURN(rewrite.map[old.id][0], Simplest(rewrite.graph, std::move(node)));
  }
  return rewrite.Finish();
}

}  // namespace tpurun
