// Calls whose operands and results share leading dimensions (batch_dims), entry by entry.
#ifndef TPURUN_RUNTIME_OPS_ENTRIES_H_
#define TPURUN_RUNTIME_OPS_ENTRIES_H_

#include <memory>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// The call for one entry of the first `axes` dimensions, which all operands and results have. It
// has one part.
OpCall EntryOf(const OpCall& call, int axes);

// For an op of two operands and one result. Runs a kernel for `one` on each entry of the leading
// dimensions that `call` has and `one` does not have, one after the other: the bits of an entry
// depend on no other entry. A work unit of `call` is an entry of its first dimension. Returns
// nullptr if `kernel` is.
std::unique_ptr<Kernel> ForEachEntry(const OpCall& one, const OpCall& call,
                                     std::unique_ptr<Kernel> kernel);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ENTRIES_H_
