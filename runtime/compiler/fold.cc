#include "runtime/compiler/fold.h"

#include <cmath>

#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

constexpr int64_t kMostElements = 4096;

// True for a small constant without subnormals: threads that flush subnormals do not change it.
bool IsPlainConstant(const Node& node) {
  if (node.op != &ConstantOp() || node.shapes[0].num_elements() > kMostElements) return false;
  const std::vector<double> values = node.attrs.Get<std::vector<double>>("value");
  return std::all_of(values.begin(), values.end(), [](double value) {
    return value == 0 || std::fabs(value) >= std::numeric_limits<float>::min();
  });
}

bool CanFold(const Graph& graph, const Node& node, const std::vector<Value>& inputs) {
  const OpFlags& flags = node.op->flags;
  if (inputs.empty() || flags.source || flags.random || flags.collective || flags.per_replica)
    return false;
  for (const Shape& shape : node.shapes) {
    if (shape.num_elements() > kMostElements) return false;
  }
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](Value input) { return IsPlainConstant(graph.node(input)); });
}

// The results of a node with constant operands, in the floating-point mode of the workers.
absl::StatusOr<std::vector<Literal>> Compute(const Graph& graph, const Node& node,
                                             const std::vector<Value>& constants) {
  Graph alone;
  std::vector<Value> inputs;
  for (const Value constant : constants) {
    ASSIGN_OR_RETURN(const Value input,
                     alone.AddNode(ConstantOp(), {}, graph.node(constant).attrs, "", {}));
    inputs.push_back(input);
  }
  ASSIGN_OR_RETURN(const Value value,
                   alone.AddNode(*node.op, std::move(inputs), node.attrs, node.name, node.origins));
  for (size_t result = 0; result < node.shapes.size(); ++result)
    alone.AddOutput("", {value.node, static_cast<int>(result)});
  const ScopedFlushDenormals flush;
  ASSIGN_OR_RETURN(EvaluateResult evaluated, Evaluate(alone, {}));
  std::vector<Literal> results;
  for (std::vector<Literal>& output : evaluated.outputs) results.push_back(std::move(output[0]));
  return results;
}

// The attributes of the constants that equal the results of `node`. Empty if a result cannot be
// written as a constant.
absl::StatusOr<std::vector<Attrs>> Folded(const Graph& graph, const Node& node,
                                          const std::vector<Value>& inputs) {
  std::vector<Attrs> constants;
  if (!CanFold(graph, node, inputs)) return constants;
  ASSIGN_OR_RETURN(const std::vector<Literal> results, Compute(graph, node, inputs));
  for (const Literal& result : results) {
    const std::optional<Attrs> attrs = ConstantAttrs(result);
    if (!attrs) return std::vector<Attrs>{};
    constants.push_back(*attrs);
  }
  return constants;
}

}  // namespace

absl::StatusOr<Graph> FoldConstants(const Graph& graph) {
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    ASSIGN_OR_RETURN(const std::vector<Attrs> constants,
                     Folded(rewrite.graph, node, rewrite.At(node.inputs)));
    if (constants.empty()) RETURN_IF_ERROR(rewrite.Copy(node));
    for (size_t result = 0; result < constants.size(); ++result) {
      ASSIGN_OR_RETURN(
          rewrite.map[node.id][result],
          rewrite.graph.AddNode(ConstantOp(), {}, constants[result], node.name, node.origins));
    }
  }
  return rewrite.Finish();
}

}  // namespace tpurun
