// Scheduling: which instruction runs in which phase and how it is cut into parts.
#ifndef TPURUN_RUNTIME_COMPILER_SCHEDULE_H_
#define TPURUN_RUNTIME_COMPILER_SCHEDULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// kBefore and kAfter are of a periodic section.
enum class Section : uint8_t { kPrologue, kBefore, kStep, kAfter };

// One instruction to be: a node, or the copy of an output into its outfeed slot.
struct Scheduled {
  int node = -1;    // the node computed; -1 for an outfeed copy
  int output = -1;  // the graph output copied; -1 for a node
  OpCall call;
  KernelPlan plan;
  Section section = Section::kStep;
  int64_t period = 1;          // of the periodic section
  int phase = 0;               // within the section and the range
  bool for_next_step = false;  // computes a carried node again
  Partition partition;
};

// Instructions in the order in which they run: by section, range, phase and then node order.
struct Schedule {
  std::vector<Scheduled> instructions;
  std::vector<std::vector<int>> updates_variable;  // per node and result: what it writes, -1: none
  std::vector<std::vector<bool>> needed;           // per node and result
  std::vector<bool> per_core;                      // per node
  // Per node: the value whose bytes it shows in other dimensions, which is no such node's; invalid:
  // an instruction computes it.
  std::vector<Value> alias_of;
  int loss_node = -1;
};

// `graph` has gone through input_output_alias. A node that depends on constants and on variables
// without an update goes to the prologue; a carried one (replication.h) there and, again, behind
// the updates of its variables. In the step a node runs in the earliest phase that its operands,
// the readers of a variable it overwrites and the check of the loss (before any update) allow. What
// only outputs of some steps need goes into their periodic sections (node_periods.h). A reshape of
// what an instruction computes is none itself: who reads it reads that.
absl::StatusOr<Schedule> MakeSchedule(const Graph& graph, const Machine& machine,
                                      const std::string& loss_output);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_SCHEDULE_H_
