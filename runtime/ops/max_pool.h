// The rule that swaps the gradients of max pooling and relu.
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
// If a window has a positive element, both indices are the same. Otherwise y is 0 (or NaN) at
// either index, so the left side is 0 there, and relu(z) makes dp 0 on the right side.
Replacement ReluGradOfPooled(const Graph& graph, const Node& node);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_MAX_POOL_H_
