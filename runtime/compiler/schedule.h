// Scheduling: the phase of each instruction and its partition into parts.
#ifndef TPURUN_RUNTIME_COMPILER_SCHEDULE_H_
#define TPURUN_RUNTIME_COMPILER_SCHEDULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// kBefore and kAfter belong to a periodic section.
enum class Section : uint8_t { kPrologue, kBefore, kStep, kAfter };

// A scheduled instruction: a node, or the copy of an output into its outfeed slot.
struct Scheduled {
  int node = -1;    // the node computed; -1 for an outfeed copy
  int output = -1;  // the graph output copied; -1 for a node
  OpCall call;
  KernelPlan plan;
  Section section = Section::kStep;
  int64_t period = 1;          // of the periodic section
  int phase = 0;               // within the section and the period
  bool for_next_step = false;  // computes a loop-carried node again
  Partition partition;
};

inline bool SamePhase(const Scheduled& a, const Scheduled& b) {
  return a.section == b.section && a.period == b.period && a.phase == b.phase;
}

// Instructions in the order in which they run: by section, period, phase and then node order.
struct Schedule {
  std::vector<Scheduled> instructions;
  std::vector<std::vector<int>> updates_variable;  // [node][result]: variable it writes, or -1
  std::vector<std::vector<bool>> needed;           // [node][result]
  std::vector<bool> per_core;                      // [node]
  // [node]: the value whose bytes the node aliases with other dimensions (never itself the value of
  // an alias); invalid if an instruction computes the node.
  std::vector<Value> alias_of;
  int loss_node = -1;
};

// `graph` must have gone through input_output_alias. A node that depends only on constants and on
// variables without an update goes to the prologue. A loop-carried node (replication.h) also goes
// to the prologue, and again after the updates of its variables. In the step a node runs in the
// earliest phase that its operands, the readers of a variable it overwrites and the loss check
// (before any update) allow; but of several processes, which exchange large sums, the smaller half
// of the sums is computed a phase later, beside the exchange of the others. Nodes that only outputs
// of some steps need go to the periodic sections of those outputs (node_periods.h). A reshape of a
// computed value or of the infeed is no instruction: its readers read that value.
absl::StatusOr<Schedule> MakeSchedule(const Graph& graph, const Machine& machine,
                                      const std::string& loss_output);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_SCHEDULE_H_
