// split_k: divides sums over the examples into groups, which workers compute at the same time.
#ifndef TPURUN_RUNTIME_COMPILER_SPLIT_K_H_
#define TPURUN_RUNTIME_COMPILER_SPLIT_K_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// f(x, dy) that sums over the N examples of its operands becomes, where this is faster
// (OpRules::splits_k),
//
//   the sum over g of f(x[g], dy[g]), x and dy as (groups, N / groups, ...).
//
// Workers that divide the elements of one sum all read x and dy as a whole. Those that divide
// groups read their examples alone. A step of more than one replica has such groups already. The
// number of groups follows from N alone. The order of the sum changes, and therefore its last bits.
// `reshape` is PassOps::reshape.
absl::StatusOr<Graph> SplitK(const Graph& graph, const OpDef& reshape);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_SPLIT_K_H_
