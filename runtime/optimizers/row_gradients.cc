#include "runtime/optimizers/row_gradients.h"

#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// Appends the scatter_adds that the value is the sum of; false where something else is in it.
bool AppendScatterAdds(const Graph& graph, Value value, std::vector<Value>& found) {
  const Node& node = graph.node(value);
  if (IsScatterAdd(node)) {
    found.push_back(value);
    return true;
  }
  return node.op == &AddOp() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value x) {
           return graph.shape(x).dims == node.shapes[0].dims && AppendScatterAdds(graph, x, found);
         });
}

// The operands of scatter_adds, one after the other: ids (K), rows (K, ...).
VariableGradient RowsOf(GraphBuilder& b, int variable, const std::vector<Value>& scatter_adds) {
  std::vector<Value> all_ids, all_rows;
  for (const Value scatter_add : scatter_adds) {
    const std::vector<Value> operands = b.graph().node(scatter_add).inputs;
    const Shape ids = b.shape(operands[0]);
    const bool alike = b.shape(b.graph().node(scatter_adds[0]).inputs[0]).dtype == ids.dtype;
    std::vector<int64_t> dims = b.shape(scatter_add).dims;
    dims[0] = ids.num_elements();
    const Value flat = Reshape(b, operands[0], {dims[0]});
    all_ids.push_back(scatter_adds.size() == 1 || alike ? flat : Convert(b, flat, DType::kS64));
    all_rows.push_back(Reshape(b, operands[1], dims));
  }
  const bool one = scatter_adds.size() == 1;
  return {.variable = variable,
          .gradient = one ? all_rows[0] : Concat(b, all_rows, 0),
          .ids = one ? all_ids[0] : Concat(b, all_ids, 0)};
}

}  // namespace

void FindRows(GraphBuilder& b, std::vector<VariableGradient>& gradients) {
  for (VariableGradient& gradient : gradients) {
    std::vector<Value> found;
    if (!AppendScatterAdds(b.graph(), gradient.gradient, found)) continue;
    int64_t rows = 0;
    for (const Value scatter_add : found)
      rows += b.shape(b.graph().node(scatter_add).inputs[0]).num_elements();
    if (rows * b.graph().num_replicas() > b.shape(gradient.gradient).dims[0]) continue;
    gradient = RowsOf(b, gradient.variable, found);
  }
}

void SumRowsOfAnId(GraphBuilder& b, VariableGradient& gradient) {
  if (!gradient.ids.valid()) return;
  const auto [places, ids] = FirstPlaces(b, gradient.ids);
  gradient.gradient = ScatterAdd(b, places, gradient.gradient, b.shape(ids).dims[0]);
  gradient.ids = ids;
}

void ConcatOverReplicas(GraphBuilder& b, VariableGradient& gradient) {
  gradient.gradient = CrossReplicaConcat(b, gradient.gradient);
  gradient.ids = CrossReplicaConcat(b, gradient.ids);
}

Value WholeGradient(GraphBuilder& b, const VariableGradient& gradient) {
  if (!gradient.ids.valid()) return gradient.gradient;
  return ScatterAdd(b, gradient.ids, gradient.gradient,
                    b.graph().variables()[gradient.variable].shape.dims[0]);
}

}  // namespace tpurun
