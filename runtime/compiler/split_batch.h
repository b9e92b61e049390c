// Sums over the batch that would be one piece of work, over chunks of the batch.
#ifndef TPURUN_RUNTIME_COMPILER_SPLIT_BATCH_H_
#define TPURUN_RUNTIME_COMPILER_SPLIT_BATCH_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// With one replica: a node whose op can sum over chunks of the batch (OpDef::in_chunks) becomes
// that and a sum_of_chunks, so that workers share it as 8 cores do. The order of the sum changes,
// and so its last bits.
absl::StatusOr<Graph> SplitBatch(const Graph& graph);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_SPLIT_BATCH_H_
