// Directory: an open directory. FilePath: a file named by a path or inside an open directory.
#ifndef TPURUN_RUNTIME_IO_DIRECTORY_H_
#define TPURUN_RUNTIME_IO_DIRECTORY_H_

#include <fcntl.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tpurun {

// Files named in a Directory are files of this very directory, even if its path leads to another
// directory later. Default-constructed, it is not open.
class Directory {
 public:
  // PermissionDenied if `path` is not a directory or cannot be opened for reading.
  static absl::StatusOr<Directory> Open(const std::string& path);
  Directory() = default;
  Directory(Directory&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  Directory& operator=(Directory&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Directory();

  bool is_open() const { return fd_ >= 0; }
  // The path that was given to Open.
  const std::string& path() const { return path_; }
  int fd() const { return fd_; }

  // PermissionDenied if path() now leads to another directory or to none. The message says where
  // this directory is now.
  absl::Status CheckPath() const;
  // Tries to lock the directory for this process. Returns true if this process now has the lock.
  // Other tpurun processes respect it. The lock ends with this object or with the process, however
  // the process ends. File systems without locks grant it to every process.
  bool TryLock() const;

 private:
  Directory(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

// A path, or a name inside a Directory that must outlive the FilePath. Both convert implicitly, so
// that a function with a FilePath parameter accepts either.
class FilePath {
 public:
  FilePath(std::string path) : name_(std::move(path)) {}  // NOLINT: implicit
  FilePath(const char* path) : name_(path) {}             // NOLINT: implicit
  FilePath(const Directory& dir)                          // NOLINT: implicit
      : FilePath(dir, "") {}
  FilePath(const Directory& dir, std::string_view name)
      : dir_fd_(dir.fd()), dir_path_(dir.path()), name_(name) {}

  // The arguments of the system calls whose names end in `at`.
  int dir_fd() const { return dir_fd_; }
  const std::string& name() const { return name_; }
  // The path as messages show it.
  std::string text() const;
  // Another name relative to the same directory.
  FilePath WithName(std::string_view name) const;

 private:
  int dir_fd_ = AT_FDCWD;
  std::string dir_path_;
  std::string name_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_DIRECTORY_H_
