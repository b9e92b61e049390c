// The child processes that this process waits for, so that a signal handler can end them.
#ifndef TPURUN_RUNTIME_BASE_PROCESS_GROUP_H_
#define TPURUN_RUNTIME_BASE_PROCESS_GROUP_H_

#include <atomic>

namespace tpurun {

// The number of the process group of those children, or 0 if there is none. A signal handler may
// read it.
inline std::atomic<int> waited_for_group{0};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_PROCESS_GROUP_H_
