// What a graph is evaluated on in tests.
#ifndef TPURUN_TESTS_COMPILER_EVALUATE_ARGS_H_
#define TPURUN_TESTS_COMPILER_EVALUATE_ARGS_H_

#include "runtime/ir/evaluate.h"

namespace tpurun {

// fill(shape) gives each literal: every infeed slot of every replica, then one copy of each
// variable.
template <typename Fill>
EvaluateArgs FilledArgs(const Graph& graph, Fill fill) {
  EvaluateArgs args;
  for (const InfeedSlot& slot : graph.infeed()) {
    args.infeed.emplace_back();
    for (int replica = 0; replica < graph.num_replicas(); ++replica)
      args.infeed.back().push_back(fill(slot.shape));
  }
  for (const Variable& variable : graph.variables())
    args.variables[variable.name] = {fill(variable.shape)};
  return args;
}

}  // namespace tpurun

#endif  // TPURUN_TESTS_COMPILER_EVALUATE_ARGS_H_
