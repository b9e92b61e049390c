// The memory plan: where every value of a schedule lives.
#ifndef TPURUN_RUNTIME_COMPILER_MEMORY_PLAN_H_
#define TPURUN_RUNTIME_COMPILER_MEMORY_PLAN_H_

#include <string>
#include <vector>

#include "runtime/compiler/schedule.h"

namespace tpurun {

struct MemoryPlan {
  std::vector<std::vector<BufferRef>> values;  // [node][result]; kNone where nobody reads it
  std::vector<BufferRef> scratch;              // per instruction of the schedule
  int64_t shared_bytes = 0, core_bytes = 0, worker_bytes = 0;
  std::string text;  // one line a buffer: space, offset, bytes, life, name
};

// Where a value of shape (N, ...) lives, on R cores and W workers; the last column says how long
// its buffer is alive, from instruction to instruction:
//
//   per core, read in its phase alone           worker   W x (N, ...)   own to last reader
//   per core, read in a later phase, or the loss core     R x (N, ...)   own to last reader
//   shared                                       shared   1 x (N, ...)   phase of own to that of
//                                                                        the last reader, whole
//   shared, all who touch it uncut, in one phase shared   1 x (N, ...)   own to last reader
//   of the prologue                              shared   1 x (N, ...)   the whole program
//   a view (Schedule::alias_of)                   where what it shows lives
//   an update                                    the variable
//
// Buffers that are alive together do not overlap: best fit over live ranges, in the best of three
// orders.
MemoryPlan PlanMemory(const Graph& graph, const Schedule& schedule);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_MEMORY_PLAN_H_
