// LockedFile: a small file that one process at a time has, and what a lock of a file needs.
#ifndef TPURUN_RUNTIME_IO_LOCKED_FILE_H_
#define TPURUN_RUNTIME_IO_LOCKED_FILE_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/directory.h"

namespace tpurun {

// The system releases the lock (flock) when the process ends, however it ends; the file stays. File
// systems without locks grant it to every process.
class LockedFile {
 public:
  // Opens the file, makes it if it is absent, and locks it. Unavailable if another process has it.
  static absl::StatusOr<std::unique_ptr<LockedFile>> Open(const FilePath& path);
  // Keeps the file and ends the lock.
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Replaces the content durably. A process that is killed meanwhile leaves a part of it.
  absl::Status Write(std::string_view bytes);

  const FilePath& path() const { return path_; }

 private:
  LockedFile(const FilePath& path, int fd) : path_(path), fd_(fd) {}

  const FilePath path_;
  const int fd_;
};

// True if the path leads to the open file.
bool IsNameOf(const FilePath& path, int fd);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_LOCKED_FILE_H_
