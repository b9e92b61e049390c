#include "runtime/compiler/guard.h"

#include <numeric>

#include "runtime/compiler/replication.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

class Guarding {
 public:
  explicit Guarding(const Graph& graph)
      : graph_(graph),
        available_(PrologueNodes(graph)),
        overwritten_(CarriedNodes(graph)),
        guards_(graph.nodes().size()),
        in_step_(graph.nodes().size(), false) {
    std::vector<bool> updated(graph.variables().size(), false);
    for (const Update& update : graph.updates()) updated[update.variable] = true;
    for (const Node& node : graph.nodes()) {
      available_[node.id] = available_[node.id] || overwritten_[node.id] || node.op->flags.source;
      if (node.op != &VariableOp()) continue;
      overwritten_[node.id] = updated[graph.FindVariable(node.attrs.String("variable"))];
    }
    for (const Update& update : graph.updates()) in_step_[update.value.node] = true;
  }

  std::vector<Guard> Run() {
    do {
      FindPeriods();
      FindBefore();
    } while (MoveIntoStep());
    return std::move(guards_);
  }

 private:
  bool guarded(const Node& node) const { return guards_[node.id].every > 1; }

  void FindPeriods() {
    std::vector<int64_t> periods(graph_.nodes().size(), 0);  // 0: nobody needs it so far
    for (const Output& output : graph_.outputs()) {
      int64_t& period = periods[output.value.node];
      period = output.every == 0 ? 1 : std::gcd(period, output.every);
    }
    for (int id = static_cast<int>(periods.size()); id-- > 0;) {
      if (in_step_[id] || available_[id] || periods[id] == 0) periods[id] = 1;
      guards_[id].every = periods[id];
      for (const Value input : graph_.nodes()[id].inputs) {
        periods[input.node] = std::gcd(periods[input.node], periods[id]);
      }
    }
  }

  void FindBefore() {
    for (const Node& node : graph_.nodes()) {
      bool before = guarded(node);
      for (const Value input : node.inputs) {
        before = before && (available_[input.node] || guards_[input.node].before);
      }
      guards_[node.id].before = before;
    }
  }

  bool MoveIntoStep() {
    bool moved = false;
    for (const Node& node : graph_.nodes()) {
      if (!guarded(node) || guards_[node.id].before) continue;
      for (const Value input : node.inputs) {
        if (overwritten_[input.node]) moved = in_step_[node.id] = true;
      }
    }
    return moved;
  }

  const Graph& graph_;
  std::vector<bool> available_;    // when a step starts: of the prologue, carried, a source
  std::vector<bool> overwritten_;  // another value at the end of the step
  std::vector<Guard> guards_;
  std::vector<bool> in_step_;
};

}  // namespace

std::vector<Guard> GuardNodes(const Graph& graph) { return Guarding(graph).Run(); }

}  // namespace tpurun
