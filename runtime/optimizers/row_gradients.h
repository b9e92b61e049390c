// Gradients of tables of which few rows are read: those rows instead of the table.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_ROW_GRADIENTS_H_
#define TPURUN_RUNTIME_OPTIMIZERS_ROW_GRADIENTS_H_

#include <vector>

#include "runtime/optimizers/optimizers.h"

namespace tpurun {

// A gradient that is a sum of scatter_adds becomes their rows and ids, where those of all replicas
// are together no more rows than the variable has.
void FindRows(GraphBuilder& b, std::vector<VariableGradient>& gradients);

// Sums the rows of each id where it stands first; where it stands again the row is 0 and the id -1.
// Changes nothing of a gradient without ids.
void SumRowsOfAnId(GraphBuilder& b, VariableGradient& gradient);

// The rows and ids of all replicas, of a gradient with ids.
void ConcatOverReplicas(GraphBuilder& b, VariableGradient& gradient);

// The gradient with the shape of its variable.
Value WholeGradient(GraphBuilder& b, const VariableGradient& gradient);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_ROW_GRADIENTS_H_
