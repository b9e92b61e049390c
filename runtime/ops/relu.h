// relu and its gradient, for the simplification rules of other ops.
#ifndef TPURUN_RUNTIME_OPS_RELU_H_
#define TPURUN_RUNTIME_OPS_RELU_H_

#include "runtime/ir/op_def.h"

namespace tpurun {

const OpDef& ReluOp();
const OpDef& ReluGradOp();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_RELU_H_
