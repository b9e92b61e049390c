// The processes that this one has started and waits for, for whatever ends it.
#ifndef TPURUN_RUNTIME_BASE_PROCESS_GROUP_H_
#define TPURUN_RUNTIME_BASE_PROCESS_GROUP_H_

#include <atomic>

namespace tpurun {

// The number of their process group; 0: none. A signal handler may read it.
inline std::atomic<int> waited_for_group{0};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_PROCESS_GROUP_H_
