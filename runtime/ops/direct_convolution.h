// The convolutions of runtime/kernels/conv as kernels of calls.
#ifndef TPURUN_RUNTIME_OPS_DIRECT_CONVOLUTION_H_
#define TPURUN_RUNTIME_OPS_DIRECT_CONVOLUTION_H_

#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ops/conv_dims.h"
#include "runtime/ops/onednn/convolutions.h"

namespace tpurun {

// True if DirectConvKernels offers the call on plain operands: it is not empty and has one group,
// or groups of one channel, one product of parts, pixels that it reaches (conv::ReachesPixels) and,
// as a gradient of x, strides or dilations of 1.
bool HasDirectKernel(ConvKind kind, const ConvDims& dims, const OpCall& call);
// True if that kernel is also faster than the library's.
bool IsDirect(ConvKind kind, const ConvDims& dims, const OpCall& call, const Machine& machine);

// The kernels "direct_amx_bf16" (gradients of the kernel alone), "direct_avx512_bf16",
// "winograd_avx512", "winograd_avx2", "winograd_plain", "direct_avx512", "direct_avx2" and
// "direct_plain" (GemmKernels). Those of minimal filtering are offered where they are faster than
// the next ones, for f32 results.
std::vector<KernelDef> DirectConvKernels(ConvKind kind, ConvDims (*dims_of)(const OpCall& call));

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_DIRECT_CONVOLUTION_H_
