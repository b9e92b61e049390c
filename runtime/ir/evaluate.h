// The reference interpreter: runs a graph on Literals node by node with the reference kernels, all
// replicas in lockstep. It is slow and simple. All fast code is tested against it, bit for bit
// unless a pass is documented as inexact.
#ifndef TPURUN_RUNTIME_IR_EVALUATE_H_
#define TPURUN_RUNTIME_IR_EVALUATE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/ir/literal.h"

namespace tpurun {

struct EvaluateArgs {
  std::vector<std::vector<Literal>> infeed;  // [slot][replica]
  // By variable name: one literal for a shared variable, one literal per replica for a per-core
  // variable. A missing state variable is zero. Any other missing variable is an error.
  std::map<std::string, std::vector<Literal>> variables;
  int32_t loop_index = 0;
  // Called after each node with its results, [replica][result]. Return false to stop. May be null.
  std::function<bool(const Node&, const std::vector<std::vector<Literal>>& results)> observe;
};

struct EvaluateResult {
  std::vector<std::vector<Literal>> outputs;  // [output][replica]
  // The variables after the step: one literal, or one per replica for a per-core variable.
  std::map<std::string, std::vector<Literal>> variables;
};

absl::StatusOr<EvaluateResult> Evaluate(const Graph& graph, const EvaluateArgs& args);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_EVALUATE_H_
