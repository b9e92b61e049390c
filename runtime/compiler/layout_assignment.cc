#include "runtime/compiler/layout_assignment.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/compiler/calls.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/pass_ops.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

class LayoutAssignment {
 public:
  LayoutAssignment(const Graph& graph, const OpDef& pack, const Machine& machine)
      : graph_(graph),
        pack_(pack),
        machine_(machine),
        in_prologue_(PrologueNodes(graph)),
        calls_(graph),
        best_operands_(graph.nodes().size()),
        rewrite_(graph) {}

  absl::StatusOr<Graph> Run() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->flags.source || in_prologue_[node.id]) continue;
      best_operands_[node.id] = PlanKernel(calls_.Of(node), machine_).best_operands;
      for (size_t i = 0; i < best_operands_[node.id].size(); ++i)
        ++readers_[{node.inputs[i], best_operands_[node.id][i].ToString()}];
    }
    for (const Node& node : graph_.nodes()) RETURN_IF_ERROR(Emit(node));
    return rewrite_.Finish();
  }

 private:
  absl::Status Emit(const Node& node) {
    const std::vector<Shape>& best_operands = best_operands_[node.id];
    if (best_operands.empty()) return rewrite_.Copy(node);
    std::vector<Value> operands = rewrite_.At(node.inputs);
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value input = node.inputs[i];
      const Shape& best = best_operands[i];
      if (best == graph_.shape(input) || !WorthAssigning(input, best, node)) continue;
      ASSIGN_OR_RETURN(operands[i], Packed(input, best));
    }
    ASSIGN_OR_RETURN(
        const Value value,
        rewrite_.graph.AddNode(*node.op, std::move(operands), node.attrs, node.name, node.origins));
    rewrite_.Map(node, value.node);
    return absl::OkStatus();
  }

  // A pack in every step takes about as long as the packing that the library does itself in two or
  // three parts.
  static constexpr int kPartsOfReader = 4;

  bool WorthAssigning(Value value, const Shape& best, const Node& reader) const {
    if (in_prologue_[value.node]) return true;
    // The value is packed on each core, and otherwise each reader would pack it.
    if (calls_.PartitionOf(graph_.node(value)).per_core &&
        readers_.at({value, best.ToString()}) > 1)
      return true;
    const bool shared_variable =
        graph_.node(value).op == &VariableOp() && !calls_.per_core()[value.node];
    return shared_variable && calls_.PartitionOf(reader).parts >= kPartsOfReader;
  }

  absl::StatusOr<Value> Packed(Value value, const Shape& best) {
    const auto [packed, is_new] = packed_.try_emplace({value, best.ToString()});
    if (is_new) {
      ASSIGN_OR_RETURN(packed->second,
                       rewrite_.graph.AddNode(pack_, {rewrite_.At(value)}, PackAttrs(best),
                                              absl::StrCat(graph_.node(value).name, "/packed"),
                                              graph_.node(value).origins));
    }
    return packed->second;
  }

  const Graph& graph_;
  const OpDef& pack_;
  const Machine& machine_;
  const std::vector<bool> in_prologue_;
  const Calls calls_;
  std::vector<std::vector<Shape>> best_operands_;  // [node]
  // (value, best shape) -> number of readers
  std::map<std::pair<Value, std::string>, int> readers_;
  Rewrite rewrite_;
  std::map<std::pair<Value, std::string>, Value> packed_;  // (value, shape) -> packed value
};

}  // namespace

absl::StatusOr<Graph> AssignLayouts(const Graph& graph, const OpDef& pack, const Machine& machine) {
  return LayoutAssignment(graph, pack, machine).Run();
}

}  // namespace tpurun
