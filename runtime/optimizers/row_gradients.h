// Gradients of tables of which few rows are read, as these rows instead of the whole table.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_ROW_GRADIENTS_H_
#define TPURUN_RUNTIME_OPTIMIZERS_ROW_GRADIENTS_H_

#include <vector>

#include "runtime/optimizers/optimizers.h"

namespace tpurun {

// Replaces a gradient that is a sum of scatter_adds by their rows and ids, if all replicas together
// have at most as many rows as the variable.
void FindRows(GraphBuilder& b, std::vector<VariableGradient>& gradients);

// Sums the rows with the same id at the first occurrence of the id. At later occurrences the row
// becomes 0 and the id -1. A gradient without ids is unchanged.
void SumRowsOfAnId(GraphBuilder& b, VariableGradient& gradient);

// Concatenates the rows and ids of all replicas. The gradient must have ids.
void ConcatOverReplicas(GraphBuilder& b, VariableGradient& gradient);

// The gradient with the shape of its variable.
Value WholeGradient(GraphBuilder& b, const VariableGradient& gradient);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_ROW_GRADIENTS_H_
