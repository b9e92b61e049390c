// Norms of variables and gradients.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_NORM_H_
#define TPURUN_RUNTIME_OPTIMIZERS_NORM_H_

#include "runtime/ir/graph_builder.h"

namespace tpurun {

// The sum of the squares of all elements, f32[]: of each row first, then of the rows.
Value SquaredNorm(GraphBuilder& b, Value x);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_NORM_H_
