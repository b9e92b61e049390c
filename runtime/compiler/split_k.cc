#include "runtime/compiler/split_k.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/compiler/calls.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/elementwise.h"

namespace tpurun {
namespace {

// As many equal groups as a phase has parts, or half as many and more: first the numbers that 2 or
// 4 workers share evenly. 1: there are none.
int64_t GroupsOf(int64_t examples) {
  for (const int64_t groups : {kParts, kParts / 2, kParts - 2, kParts - 1, kParts - 3}) {
    if (examples > 0 && examples % groups == 0) return groups;
  }
  return 1;
}

int64_t GroupsOf(const OpCall& call) {
  const bool splits = call.op->rules.splits_k != nullptr && !call.attrs.Has(kBatchDims);
  const int64_t groups = splits ? GroupsOf(call.operands[0].dims[0]) : 1;
  return groups > 1 && call.op->rules.splits_k(call, groups) ? groups : 1;
}

absl::StatusOr<Value> SumOfGroups(const Node& node, int64_t groups, const OpDef& reshape,
                                  Rewrite& rewrite) {
  const auto add = [&](const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                       const std::string& name) {
    return rewrite.graph.AddNode(op, std::move(inputs), std::move(attrs), name, node.origins);
  };
  std::vector<Value> operands;
  for (const Value input : rewrite.At(node.inputs)) {
    const Shape& shape = rewrite.graph.shape(input);
    std::vector<int64_t> dims = {groups, shape.dims[0] / groups};
    dims.insert(dims.end(), shape.dims.begin() + 1, shape.dims.end());
    ASSIGN_OR_RETURN(operands.emplace_back(),
                     add(reshape, {input}, {{"dims", dims}}, node.name + "/examples"));
  }
  Attrs attrs = node.attrs;
  attrs.Set(kBatchDims, int64_t{1});
  ASSIGN_OR_RETURN(const Value of_groups, add(*node.op, operands, attrs, node.name));
  const Shape& result = node.shapes[0];
  const std::vector<int64_t> rows = {groups, result.num_elements()};
  ASSIGN_OR_RETURN(const Value summands,
                   add(reshape, {of_groups}, {{"dims", rows}}, node.name + "/rows"));
  ASSIGN_OR_RETURN(const Value sum, add(SumOfRowsOp(), {summands}, {}, node.name + "/sum"));
  return add(reshape, {sum}, {{"dims", result.dims}}, node.name + "/sum");
}

}  // namespace

absl::StatusOr<Graph> SplitK(const Graph& graph, const OpDef& reshape) {
  Rewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    const bool of_one_replica = graph.replicas().all == 1 && !node.op->flags.source;
    const int64_t groups = of_one_replica ? GroupsOf(CallOfNode(graph, node)) : 1;
    if (groups == 1) {
      RETURN_IF_ERROR(rewrite.Copy(node));
      continue;
    }
    ASSIGN_OR_RETURN(const Value sum, SumOfGroups(node, groups, reshape, rewrite));
    rewrite.Map(node, sum.node);
  }
  return rewrite.Finish();
}

}  // namespace tpurun
