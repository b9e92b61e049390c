// Finds the nodes that run only at the steps at which an output that needs them is due.
#ifndef TPURUN_RUNTIME_COMPILER_NODE_PERIODS_H_
#define TPURUN_RUNTIME_COMPILER_NODE_PERIODS_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/graph.h"

namespace tpurun {

struct NodePeriod {
  // The node runs at the steps whose number is a multiple of `period`. 1: in every step.
  int64_t period = 1;
  // True if the node runs before the phases of the step: it depends on nothing that they compute,
  // and reads the variables as of the step's start. False: it runs after them.
  bool before = false;
};

// A node that no update and no output of every step depends on gets the greatest common divisor of
// the periods of the outputs that depend on it. If it would run after the step and reads a value
// that the step overwrites (an updated variable, a loop-carried value), it and its dependencies run
// in every step instead. Sources, prologue nodes and loop-carried nodes have period 1.
std::vector<NodePeriod> FindNodePeriods(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_NODE_PERIODS_H_
