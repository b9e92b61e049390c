// oneDNN's convolutions and their gradients.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"

namespace tpurun {

// What a convolution is, whichever of its three directions is computed. NHWC and HWIO, f32.
struct ConvDims {
  int64_t n, h, w, c;                // x
  int64_t kh, kw, f;                 // kernel
  int64_t oh, ow;                    // y
  int64_t sh, sw;                    // strides
  int64_t top, bottom, left, right;  // pads
};
enum class ConvKind { kForward, kInputGrad, kFilterGrad };

// onednn.h says which implementations a plan has.
KernelPlan PlanConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                    const Machine& machine);
std::unique_ptr<Kernel> MakeConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                                 const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_CONVOLUTIONS_H_
