// oneDNN's convolutions and their gradients.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_

#include <memory>

#include "runtime/ir/op_def.h"
#include "runtime/ops/conv_dims.h"

namespace tpurun {

enum class ConvKind { kForward, kInputGrad, kFilterGrad };

// onednn.h lists the implementations of a plan.
KernelPlan PlanConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                    const Machine& machine);
std::unique_ptr<Kernel> MakeConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                                 const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_
