// Why a loss is not finite: the reference interpreter runs the step again, node by node.
#ifndef TPURUN_RUNTIME_ESTIMATOR_DIAGNOSE_H_
#define TPURUN_RUNTIME_ESTIMATOR_DIAGNOSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/estimator/variable_store.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct NonFinite {
  // `first in node "hidden_2/MatMul"`, `feature "x" is inf in row 12 of the batch`; empty when all
  // values are finite.
  std::string what;
  bool in_input = false;  // the batch is to blame, not the weights
};

// The first node of the step that has a NaN or an infinity: `entry` is the step's infeed entry, the
// store holds the variables of the step's start, `features` are those of the infeed. Rows of the
// batch count from 1.
absl::StatusOr<NonFinite> FindNonFinite(const Graph& graph, const VariableStore& store,
                                        const std::byte* entry, int64_t loop_index,
                                        const std::vector<FeatureSpec>& features);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_DIAGNOSE_H_
