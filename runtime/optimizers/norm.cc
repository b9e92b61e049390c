#include "runtime/optimizers/norm.h"

#include "runtime/ops/ops.h"

namespace tpurun {

Value SquaredNorm(GraphBuilder& b, Value x) {
  const Value rows = b.shape(x).rank() == 0 ? Reshape(b, x, {1}) : x;
  return ReduceSum(b, L2LossOfRows(b, rows, 2));  // 2 / 2 the sum of squares
}

}  // namespace tpurun
