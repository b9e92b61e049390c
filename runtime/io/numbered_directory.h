// NumberedDirectory: BASE/<seconds since 1970>/, which appears under its name only when it is
// whole.
#ifndef TPURUN_RUNTIME_IO_NUMBERED_DIRECTORY_H_
#define TPURUN_RUNTIME_IO_NUMBERED_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/directory.h"

namespace tpurun {

// Built as BASE/temp-<seconds>/, as TensorFlow does: who serves the largest number sees all of it
// or nothing. The directory is locked while it is built, which tells it from one that a killed
// process left; such are removed by the next in the same BASE.
class NumberedDirectory {
 public:
  struct Clock {
    std::function<int64_t()> seconds;   // since 1970
    std::function<void()> wait_second;  // until the next may have come
  };

  // Makes BASE and the directories above it where they are missing. Where the second is taken, the
  // next one is waited for, 10 at most. PermissionDenied when nothing can be written.
  static absl::StatusOr<std::unique_ptr<NumberedDirectory>> Create(const std::string& base,
                                                                   const Clock& clock);
  static absl::StatusOr<std::unique_ptr<NumberedDirectory>> Create(const std::string& base);
  // Removes it, if Publish has not named it.
  ~NumberedDirectory();
  NumberedDirectory(const NumberedDirectory&) = delete;
  NumberedDirectory& operator=(const NumberedDirectory&) = delete;

  // Where its files are to be written, each durably.
  const std::string& path() const { return temporary_; }
  // Gives it its name, durably, and returns its path.
  absl::StatusOr<std::string> Publish();

 private:
  NumberedDirectory(std::string base, std::string temporary, std::string final, Directory locked)
      : base_(std::move(base)),
        temporary_(std::move(temporary)),
        final_(std::move(final)),
        locked_(std::move(locked)) {}

  const std::string base_, temporary_, final_;
  const Directory locked_;
  bool published_ = false;
};

// The numbered directories in BASE, as paths, the smallest number first; none where BASE is absent.
std::vector<std::string> NumberedDirectories(const std::string& base);

// Removes all but the `keep` largest of them, and what killed processes left; 0 keeps all. Nobody
// sees a part of one: it loses its name first. PermissionDenied where that is not possible.
absl::Status KeepNewest(const std::string& base, int64_t keep);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_NUMBERED_DIRECTORY_H_
