#include "runtime/checkpoint/model_dir.h"

#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetryPeriod(20);

}  // namespace

absl::StatusOr<Directory> LockModelDir(const std::string& path, const LockPatience& patience) {
  const Clock::time_point start = Clock::now();
  for (bool told = false;; std::this_thread::sleep_for(kRetryPeriod)) {
    if (!FileExists(path)) return Directory();
    absl::StatusOr<Directory> dir = Directory::Open(path);
    // A holder whose first loop failed has taken a directory of its own away again.
    if (!dir.ok() && !FileExists(path)) return Directory();
    RETURN_IF_ERROR(dir.status());
    if (dir->TryLock() && dir->CheckPath().ok()) return dir;
    if (patience.interrupt != nullptr && patience.interrupt->load() > 0) {
      return absl::CancelledError(
          absl::StrCat("interrupted while another tpurun trains in ", path));
    }
    const Clock::duration waited = Clock::now() - start;
    if (waited >= patience.wait) {
      return absl::UnavailableError(
          absl::StrCat("another tpurun trains in ", path, ", still after ",
                       std::chrono::duration_cast<std::chrono::seconds>(waited).count(),
                       " s; start this one again when that one has ended"));
    }
    if (waited < patience.quiet || told) continue;
    LOG(INFO) << "Waiting for another tpurun that trains in " << path << " to end.";
    told = true;
  }
}

}  // namespace tpurun
