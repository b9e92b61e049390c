#include "runtime/compiler/epilogue.h"

#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"

namespace tpurun {
namespace {

// For each node: the product to which it adds a bias, or nullptr.
std::vector<const Node*> ProductsOf(const Graph& graph) {
  const std::vector<int> reads = CountReads(graph);
  std::vector<const Node*> products(graph.nodes().size(), nullptr);
  for (const Node& node : graph.nodes()) {
    if (!node.op->rules.adds_bias) continue;
    const Node& product = graph.node(node.inputs[0]);
    const bool has_room = product.op->rules.bias == static_cast<int>(product.inputs.size());
    // A product that is rounded before or after the bias stays separate.
    const bool f32 = product.shapes[0].dtype == DType::kF32 && node.shapes[0].dtype == DType::kF32;
    if (reads[product.id] == 1 && has_room && f32) products[node.id] = &product;
  }
  return products;
}

}  // namespace

absl::StatusOr<Graph> MakeBiasEpilogues(const Graph& graph) {
  const std::vector<const Node*> products = ProductsOf(graph);
  std::vector<bool> interleaving(graph.nodes().size(), false);
  for (const Node* product : products) {
    if (product != nullptr) interleaving[product->id] = true;
  }
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    if (interleaving[node.id]) continue;
    const Node* product = products[node.id];
    if (product == nullptr) {
      RETURN_IF_ERROR(rewrite.Copy(node));
      continue;
    }
    std::vector<Value> operands = rewrite.At(product->inputs);
    operands.push_back(rewrite.At(node.inputs[1]));
    ASSIGN_OR_RETURN(const Value value,
                     rewrite.graph.AddNode(*product->op, std::move(operands), product->attrs,
                                           node.name, Union(product->origins, node.origins)));
    rewrite.Map(node, value.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
