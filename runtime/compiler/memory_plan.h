// The memory plan: the buffer of every value of a schedule.
#ifndef TPURUN_RUNTIME_COMPILER_MEMORY_PLAN_H_
#define TPURUN_RUNTIME_COMPILER_MEMORY_PLAN_H_

#include <string>
#include <vector>

#include "runtime/compiler/schedule.h"

namespace tpurun {

struct MemoryPlan {
  std::vector<std::vector<BufferRef>> values;  // [node][result]; kNone if nobody reads it
  std::vector<BufferRef> scratch;              // [instruction of the schedule]
  int64_t shared_bytes = 0, core_bytes = 0, worker_bytes = 0;
  std::string text;  // one line per buffer: space, offset, bytes, lifetime, name
};

// The space of a value of shape (N, ...) on R cores and W workers. The last column is the lifetime
// of its buffer, from instruction to instruction; "own" is the instruction that computes the value.
//
//   per core, read in its phase only             worker   W x (N, ...)   own to last reader
//   per core, read in a later phase, or the loss core     R x (N, ...)   own to last reader
//   shared                                       shared   1 x (N, ...)   whole phases, from that of
//                                                                        own to the last reader's
//   shared, used in one phase, unpartitioned,    shared   1 x (N, ...)   own to last reader
//   in the phase's first part
//   shared, used in one phase, part p by part p  the same, and later buffers of the same size and
//   alone                                        partition take its place after its last reader
//   in the prologue                              shared   1 x (N, ...)   the whole program
//   an alias (Schedule::alias_of)                the buffer of the aliased value
//   an update                                    the variable
//
// Buffers whose lifetimes overlap have no bytes in common. Placement is best fit over lifetimes,
// with the best of three orders.
MemoryPlan PlanMemory(const Graph& graph, const Schedule& schedule);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_MEMORY_PLAN_H_
