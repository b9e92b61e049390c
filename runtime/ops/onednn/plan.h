// The kernels of the library for an op, for all primitives.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_

#include <functional>
#include <vector>

#include "runtime/ops/onednn/steps.h"

namespace tpurun {

// Makes the steps of a call whose products have bf16 operands, or else f32 operands. Throws
// dnnl::error if the library refuses.
using MakeSteps = std::function<CallSteps(bool bf16)>;

// A call as the library computes it.
struct LibraryCall {
  // Counted for kJudgedRows rows if the call works on the rows of a batch, else for the whole call.
  double multiply_adds = 0;
  MakeSteps make;
};

// The kernels "onednn_bf16" and "onednn_f32" (onednn.h) of an op. The library is asked for its
// layouts and its scratch memory, on this processor: it makes the steps once. A call that it
// refuses, or that is too small for it, gets no offer.
std::vector<KernelDef> LibraryKernels(const std::function<LibraryCall(const OpCall& call)>& of);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_PLAN_H_
