// Which nodes run only at the steps at which an output that needs them is due.
#ifndef TPURUN_RUNTIME_COMPILER_NODE_PERIODS_H_
#define TPURUN_RUNTIME_COMPILER_NODE_PERIODS_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/graph.h"

namespace tpurun {

struct NodePeriod {
  // At the steps whose number it divides; 1: in every step, with the rest.
  int64_t period = 1;
  // Ahead of the step's own phases, for it depends on nothing that they compute: the variables are
  // those of the step's start. Else behind them.
  bool before = false;
};

// A node that neither an update nor an output of every step depends on gets the greatest common
// divisor of the periods of those that do. One that would run behind the step and reads what the
// step overwrites (an updated variable, a carried value) runs in every step instead, with what it
// depends on. Sources, prologue and carried nodes have no guard.
std::vector<NodePeriod> FindNodePeriods(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_NODE_PERIODS_H_
