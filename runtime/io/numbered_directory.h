// NumberedDirectory: BASE/<seconds since 1970>/, which gets this name only when it is complete.
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

// It is built as BASE/temp-<seconds>/, as TensorFlow does: a server that loads the largest number
// sees the complete directory or none. The directory is locked while it is built. The lock tells it
// from a directory that a killed process left. The next process in the same BASE removes such
// leftovers.
class NumberedDirectory {
 public:
  struct Clock {
    std::function<int64_t()> seconds;   // since 1970
    std::function<void()> wait_second;  // waits until the next second may have begun
  };

  // Makes BASE and its missing parents. If the directory of this second exists, waits for the next
  // second, at most 10 times. If BASE has a larger number, as from a clock that was ahead, the new
  // number is larger still: the new directory is the newest one. PermissionDenied if nothing can be
  // written or every number was taken.
  static absl::StatusOr<std::unique_ptr<NumberedDirectory>> Create(const std::string& base,
                                                                   const Clock& clock);
  static absl::StatusOr<std::unique_ptr<NumberedDirectory>> Create(const std::string& base);
  // Removes the directory unless Publish has named it.
  ~NumberedDirectory();
  NumberedDirectory(const NumberedDirectory&) = delete;
  NumberedDirectory& operator=(const NumberedDirectory&) = delete;

  // The directory in which the files are to be written, each durably.
  const std::string& path() const { return temporary_; }
  // Renames the directory to its final name, durably, and returns the final path.
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

// The paths of the numbered directories in BASE, in ascending order of the numbers. Empty if BASE
// is absent.
std::vector<std::string> NumberedDirectories(const std::string& base);

// True if both directories have the same files with the same bytes; false too if they cannot be
// read.
bool HaveEqualFiles(const std::string& x, const std::string& y);

// Removes a numbered directory. Nobody sees it partly removed: it is renamed first.
// PermissionDenied if that is not possible.
absl::Status RemoveNumbered(const std::string& path);

// Removes all numbered directories but the `keep` largest, and the leftovers of killed processes.
// `keep` 0 keeps all. Errors as in RemoveNumbered.
absl::Status KeepNewest(const std::string& base, int64_t keep);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_NUMBERED_DIRECTORY_H_
