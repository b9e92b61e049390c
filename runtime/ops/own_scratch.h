// Scratch memory for references, which may allocate.
#ifndef TPURUN_RUNTIME_OPS_OWN_SCRATCH_H_
#define TPURUN_RUNTIME_OPS_OWN_SCRATCH_H_

#include <cstdint>
#include <memory>

#include "runtime/ir/op_def.h"

namespace tpurun {

// The kernel, with so many bytes of KernelArgs::scratch that are allocated in each call.
std::unique_ptr<Kernel> WithOwnScratch(std::unique_ptr<Kernel> kernel, int64_t scratch_bytes);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_OWN_SCRATCH_H_
