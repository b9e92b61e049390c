// oneDNN's convolutions and their gradients.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_

#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ops/conv_dims.h"

namespace tpurun {

enum class ConvKind { kForward, kInputGrad, kFilterGrad };

std::vector<KernelDef> LibraryConvKernels(ConvKind kind, ConvDims (*dims_of)(const OpCall& call));

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_
