#include "runtime/compiler/partition_processes.h"

#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/collectives.h"

namespace tpurun {
namespace {

class ProcessPartition {
 public:
  ProcessPartition(const Graph& graph, int processes, int process)
      : graph_(graph),
        processes_(processes),
        rewrite_(graph, graph.replicas().OfProcess(processes, process)) {}

  absl::StatusOr<Graph> Run() {
    for (const Node& node : graph_.nodes()) {
      const bool sums = node.op == &CrossReplicaSumOp();
      if (!sums && !node.op->flags.collective) {
        RETURN_IF_ERROR(rewrite_.Copy(node));
        continue;
      }
      if (!sums && node.op != &CrossReplicaConcatOp()) {
        return absl::InternalError(
            absl::StrCat(node.op->name, " \"", node.name, "\" cannot be divided among processes"));
      }
      const Value x = rewrite_.At(node.inputs[0]);
      ASSIGN_OR_RETURN(const Value all, !sums                      ? Concat(node, x)
                                        : node.attrs.Has("groups") ? SumsOfGroups(node, x)
                                                                   : Sum(node, x));
      rewrite_.Map(node, all.node);
    }
    return rewrite_.Finish();
  }

 private:
  absl::StatusOr<Value> Add(const Node& node, const OpDef& op, Value x, Attrs attrs) {
    return rewrite_.graph.AddNode(op, {x}, std::move(attrs), node.name, node.origins);
  }

  absl::StatusOr<Value> Sum(const Node& node, Value x) {
    ASSIGN_OR_RETURN(const Value own, Add(node, CrossReplicaSumOp(), x, {}));
    return Add(node, CrossProcessSumOp(), own, {{"processes", int64_t{processes_}}});
  }

  absl::StatusOr<Value> Concat(const Node& node, Value x) {
    const auto replicas = static_cast<int64_t>(rewrite_.graph.num_replicas());
    ASSIGN_OR_RETURN(const Value own,
                     Add(node, CrossReplicaConcatOp(), x, {{"replicas", replicas}}));
    return OfAllProcesses(node, own);
  }

  absl::StatusOr<Value> OfAllProcesses(const Node& node, Value own) {
    return Add(node, CrossProcessConcatOp(), own, {{"processes", int64_t{processes_}}});
  }

  absl::StatusOr<Value> SumsOfGroups(const Node& node, Value x) {
    // With a group for each replica the sums are the values of the replicas.
    std::vector<int64_t> each(rewrite_.graph.num_replicas());
    std::iota(each.begin(), each.end(), int64_t{0});
    ASSIGN_OR_RETURN(const Value own, Add(node, CrossReplicaSumOp(), x, {{"groups", each}}));
    ASSIGN_OR_RETURN(const Value all, OfAllProcesses(node, own));
    return Add(node, GroupSumsOp(), all, {{"groups", node.attrs.Ints("groups")}});
  }

  const Graph& graph_;
  const int processes_;
  Rewrite rewrite_;
};

}  // namespace

absl::StatusOr<Graph> PartitionProcesses(const Graph& graph, int processes, int process) {
  if (processes == 1) return graph;
  const int replicas = graph.num_replicas();
  const auto power_of_2 = [](int n) { return n > 0 && std::has_single_bit(unsigned(n)); };
  if (!power_of_2(processes) || !power_of_2(replicas) || processes > replicas) {
    return absl::InvalidArgumentError(absl::StrCat(replicas, " replicas cannot be shared by ",
                                                   processes, " processes, want powers of 2"));
  }
  return ProcessPartition(graph, processes, process).Run();
}

}  // namespace tpurun
