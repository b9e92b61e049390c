// Why a value of a step is not finite: the reference interpreter runs the step again, node by node.
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
  // `first in node "hidden_2/MatMul" (matmul)`, `feature "x" is inf in row 12 of the batch`; empty
  // when the value is finite.
  std::string what;
  bool in_input = false;  // the batch is to blame, not the weights
};

// The first node of the step with a NaN or an infinity from which `value`, of the graph, has its
// own; an infinity that the model masks is none of these. `entry` is the step's infeed entry, the
// store holds the variables of the step's start, `features` are those of the infeed. Rows of the
// batch count from 1.
absl::StatusOr<NonFinite> FindNonFinite(const Graph& graph, const VariableStore& store,
                                        const std::byte* entry, int64_t loop_index,
                                        const std::vector<FeatureSpec>& features, Value value);

// "NaN", "inf" or "-inf".
std::string NonFiniteText(float value);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_DIAGNOSE_H_
