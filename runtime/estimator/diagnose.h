// Finds out why a value of a step is not finite: the reference interpreter runs the step again,
// node by node.
#ifndef TPURUN_RUNTIME_ESTIMATOR_DIAGNOSE_H_
#define TPURUN_RUNTIME_ESTIMATOR_DIAGNOSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct NonFinite {
  // `first in node "hidden_2/MatMul" (matmul) of hidden_2 (forward)` or `feature "x" is inf in row
  // 12 of the batch`. Empty if the value is finite.
  std::string what;
  bool in_input = false;  // true: the batch is the cause, not the weights
  int replica = 0;        // the first whose value is not finite
};

// Finds the first node with a NaN or an infinity that reaches `value`, a value of `graph`, through
// values that are not finite. An infinity that the model masks is therefore not reported. `entry`
// is the infeed entry of the step, `store` has the variables at the start of the step, and
// `features` are the features of the infeed. Rows of the batch count from 1.
absl::StatusOr<NonFinite> FindNonFinite(const Graph& graph, const VariableStore& store,
                                        const std::byte* entry, int64_t loop_index,
                                        const std::vector<FeatureSpec>& features, Value value);

// "NaN", "inf" or "-inf".
std::string NonFiniteText(float value);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_DIAGNOSE_H_
