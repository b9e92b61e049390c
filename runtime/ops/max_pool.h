// How max pooling and relu change places.
#ifndef TPURUN_RUNTIME_OPS_MAX_POOL_H_
#define TPURUN_RUNTIME_OPS_MAX_POOL_H_

#include "runtime/ir/graph.h"

namespace tpurun {

// OpDef::simplify of relu_grad. With y = relu(x), z = max_pool(x) and the gradient dp of
// max_pool(y):
//
//   relu_grad(max_pool_grad(dp, index of max_pool(y)), y) =
//       max_pool_grad(relu_grad(dp, relu(z)), index of z)
//
// Where a window has a positive element, both indices are the same. Where it has none, y is 0 (or
// NaN) at whatever either index names, so the left side is 0 there, and relu(z) makes dp 0.
Replacement ReluGradOfPooled(const Graph& graph, const Node& node);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_MAX_POOL_H_
