// oneDNN as an implementation of convolutions and matrix products, beside the reference kernels.
//
// Three rules of oneDNN under OpenMP, each measured: a primitive is created and run only by threads
// that have called omp_set_num_threads(1) (the count is frozen at creation, and changes bits); the
// scratchpad is always the caller's (the default gave wrong results on two threads); primitives are
// shared and immutable, argument arrays and streams are a worker's own.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/ir/op_def.h"
#include "runtime/ops/dense.h"

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

// Multiply-adds from which a library call is worth its 0.2 to 0.4 microseconds, counted for 16 rows
// of a batch.
constexpr double kLibraryMultiplyAdds = 32e3;

// "onednn_bf16" multiplies the bf16 parts of the inputs, as many products as the precision has;
// "onednn_f32" multiplies these parts, or at F32 the inputs as they are, in f32; "reference" where
// the library is not worth it or cannot.
// `parts`: in how many shares of rows the call is run.
KernelPlan PlanConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                    const Machine& machine);
std::unique_ptr<Kernel> MakeConv(ConvKind kind, const ConvDims& dims, const OpCall& call,
                                 const KernelPlan& plan);
KernelPlan PlanMatMul(const MatMulDims& dims, const OpCall& call, const Machine& machine);
std::unique_ptr<Kernel> MakeMatMul(const MatMulDims& dims, const OpCall& call,
                                   const KernelPlan& plan);

// "oneDNN 2.6.3"
std::string OneDnnVersion();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_H_
