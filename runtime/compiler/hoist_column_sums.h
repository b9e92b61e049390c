// hoist_column_sums: sums columns before an op that spreads their elements over more rows.
#ifndef TPURUN_RUNTIME_COMPILER_HOIST_COLUMN_SUMS_H_
#define TPURUN_RUNTIME_COMPILER_HOIST_COLUMN_SUMS_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// x (..., C) -> f(x) (more, C) -> sums (C) becomes x -> sums if every column of f(x) has the same
// sum as in x (OpRules::sums_columns, keeps_column_sums). An example is the bias gradient from the
// gradients that a pool spreads. The sum may also be taken from another result of f with the same
// column sums (summed_result). The order of the sum changes, and therefore its last bits.
absl::StatusOr<Graph> HoistColumnSums(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_HOIST_COLUMN_SUMS_H_
