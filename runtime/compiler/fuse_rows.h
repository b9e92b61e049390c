// fuse_rows: turns ops on the rows of large arrays into one instruction, which runs them on a few
// rows at a time.
#ifndef TPURUN_RUNTIME_COMPILER_FUSE_ROWS_H_
#define TPURUN_RUNTIME_COMPILER_FUSE_ROWS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/ir/pass_ops.h"

namespace tpurun {

// Arrays with fewer elements stay in a cache from one instruction to the next: 64 KB of f32. Their
// instructions may also be joined over the cores of a worker (join_replicas.h).
inline constexpr int64_t kFusedRowsElements = 16384;

// Per-core nodes on arrays of the same R rows and C columns, (..., C) with R C elements, become one
// `fused_rows` if one reads an array of the other or both read the same array: element-wise ops,
// ops along the last axis (OpRules::by_last_axis) and sum_of_rows. Only what other nodes read is
// written to memory, and every array is read once: in a training, an addition, then the
// normalization, scale and offset and the bf16 copy; or the gradients of gamma, beta and x of a
// layer normalization; or the sum and the bf16 copy of the gradient of a layer's output. Of
// bert_tiny and char_transformer such ops take 44.7 and 198 ms of worker time in a step one by one,
// fused 41.3 and 179 (bf16 mode on 2 cores of a Zen 3: `profile --steps=3` of both programs in
// turn, 16 and 7 runs, the least time of each instruction).
//
// Nodes join while no other node reads a value of theirs. So the instruction comes where its last
// node was, and depends on nothing that depends on it. They run in the same steps (NodePeriod) and
// follow as many collectives, so that none waits for the phase of a collective that it does not
// need.
absl::StatusOr<Graph> FuseRows(const Graph& graph, const PassOps& ops,
                               int64_t least_elements = kFusedRowsElements);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_FUSE_ROWS_H_
