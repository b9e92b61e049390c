// The lock of a model_dir: one process at a time trains in it.
#ifndef TPURUN_RUNTIME_CHECKPOINT_MODEL_DIR_H_
#define TPURUN_RUNTIME_CHECKPOINT_MODEL_DIR_H_

#include <atomic>
#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/io/directory.h"

namespace tpurun {

struct LockPatience {
  // A process that was killed holds its lock until all of its memory is freed.
  std::chrono::milliseconds wait{10000};
  std::chrono::milliseconds quiet{1000};  // the log mentions a longer wait
  // Counts interrupts. One interrupt ends the wait. May be nullptr.
  const std::atomic<int>* interrupt = nullptr;
};

// Opens and locks the directory. The result is not open if the directory does not exist. Blocks
// while another process has the lock: Unavailable after `patience.wait`, Cancelled after an
// interrupt.
absl::StatusOr<Directory> LockModelDir(const std::string& path, const LockPatience& patience);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_MODEL_DIR_H_
