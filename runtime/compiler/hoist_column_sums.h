// hoist_column_sums: columns are summed before their elements spread over more.
#ifndef TPURUN_RUNTIME_COMPILER_HOIST_COLUMN_SUMS_H_
#define TPURUN_RUNTIME_COMPILER_HOIST_COLUMN_SUMS_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// x (..., C) -> f (x) (more, C) -> sums (C) becomes x -> sums where every column of f(x) has the
// sum that it has in x (OpFlags::sums_columns, keeps_column_sums): a bias gradient of the gradients
// that a pool spreads; or a result of f whose columns have the same sums (summed_result). The order
// of the sum changes, and so its last bits.
absl::StatusOr<Graph> HoistColumnSums(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_HOIST_COLUMN_SUMS_H_
