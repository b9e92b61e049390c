#include "runtime/compiler/node_periods.h"

#include <numeric>

#include "runtime/compiler/replication.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

class PeriodFinder {
 public:
  explicit PeriodFinder(const Graph& graph)
      : graph_(graph),
        available_(PrologueNodes(graph)),
        overwritten_(CarriedNodes(graph)),
        periods_(graph.nodes().size()),
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

  std::vector<NodePeriod> Run() {
    do {
      FindPeriods();
      FindBefore();
    } while (MoveIntoStep());
    return std::move(periods_);
  }

 private:
  bool periodic(const Node& node) const { return periods_[node.id].period > 1; }

  void FindPeriods() {
    std::vector<int64_t> periods(graph_.nodes().size(), 0);  // 0: no reader so far
    for (const Output& output : graph_.outputs()) {
      int64_t& period = periods[output.value.node];
      period = output.period == 0 ? 1 : std::gcd(period, output.period);
    }
    for (int id = static_cast<int>(periods.size()); id-- > 0;) {
      if (in_step_[id] || available_[id] || periods[id] == 0) periods[id] = 1;
      periods_[id].period = periods[id];
      for (const Value input : graph_.nodes()[id].inputs) {
        periods[input.node] = std::gcd(periods[input.node], periods[id]);
      }
    }
  }

  void FindBefore() {
    for (const Node& node : graph_.nodes()) {
      bool before = periodic(node);
      for (const Value input : node.inputs) {
        before = before && (available_[input.node] || periods_[input.node].before);
      }
      periods_[node.id].before = before;
    }
  }

  bool MoveIntoStep() {
    bool moved = false;
    for (const Node& node : graph_.nodes()) {
      if (!periodic(node) || periods_[node.id].before) continue;
      for (const Value input : node.inputs) {
        if (overwritten_[input.node]) moved = in_step_[node.id] = true;
      }
    }
    return moved;
  }

  const Graph& graph_;
  // [node] at the start of a step: in the prologue, loop-carried or a source
  std::vector<bool> available_;
  std::vector<bool> overwritten_;  // [node]: the value changes before the end of the step
  std::vector<NodePeriod> periods_;
  std::vector<bool> in_step_;
};

}  // namespace

std::vector<NodePeriod> FindNodePeriods(const Graph& graph) { return PeriodFinder(graph).Run(); }

}  // namespace tpurun
