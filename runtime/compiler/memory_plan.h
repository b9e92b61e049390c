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

// A value per core that dies inside its phase lives in the worker's arena, else in the core's; a
// shared one in the shared arena, for whole phases unless only uncut instructions of one phase
// touch it; prologue values for ever; an update in its variable. Best fit over live ranges, in the
// best of three orders.
MemoryPlan PlanMemory(const Graph& graph, const Schedule& schedule);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_MEMORY_PLAN_H_
