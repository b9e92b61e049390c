#include "runtime/compiler/epilogue.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"

namespace tpurun {

absl::StatusOr<Graph> MakeBiasEpilogues(const Graph& graph, const Machine& machine) {
  const std::vector<int> reads = CountReads(graph);
  // The product that a node adds a bias to, or nullptr.
  const auto product_of = [&](const Node& node) -> const Node* {
    if (!node.op->flags.adds_bias) return nullptr;
    const Node& product = graph.node(node.inputs[0]);
    const bool has_room = product.op->max_operands == static_cast<int>(product.inputs.size()) + 1;
    if (reads[product.id] != 1 || !has_room ||
        !PlanKernel(CallOf(graph, product), machine).takes_bias) {
      return nullptr;
    }
    return &product;
  };
  std::vector<bool> joined(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    if (const Node* product = product_of(node)) joined[product->id] = true;
  }
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    if (joined[node.id]) continue;
    const Node* product = product_of(node);
    if (product == nullptr) {
      RETURN_IF_ERROR(rewrite.Copy(node));
      continue;
    }
    std::vector<Value> operands = rewrite.At(product->inputs);
    operands.push_back(rewrite.At(node.inputs[1]));
    ASSIGN_OR_RETURN(const Value value, rewrite.graph.AddNode(*product->op, std::move(operands),
                                                              product->attrs, node.name));
    rewrite.Map(node, value.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
