// An op that sums over the batch, on chunks of the batch that may run apart.
#ifndef TPURUN_RUNTIME_OPS_CHUNKED_H_
#define TPURUN_RUNTIME_OPS_CHUNKED_H_

#include <memory>

#include "runtime/ir/op_def.h"

namespace tpurun {

// The call of `op` on one chunk of `rows` rows; call.results[0] has the chunks as its leading
// dimension.
OpCall CallOnChunk(const OpCall& call, const OpDef& op, int64_t rows);

// Runs `op` on one chunk after the other; each share of the chunks is a part of the work.
std::unique_ptr<Kernel> ChunkedReference(const OpCall& call, const OpDef& op);
KernelPlan PlanChunked(const OpCall& call, const OpDef& op, const Machine& machine);
std::unique_ptr<Kernel> MakeChunked(const OpCall& call, const OpDef& op, const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_CHUNKED_H_
