// Directory: a directory held open. FilePath: where a file is, by path or inside such a directory.
#ifndef TPURUN_RUNTIME_IO_DIRECTORY_H_
#define TPURUN_RUNTIME_IO_DIRECTORY_H_

#include <fcntl.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tpurun {

// Files named in it are files of this very directory, also when its path leads elsewhere by then.
// Default-constructed it holds nothing.
class Directory {
 public:
  // PermissionDenied when `path` is no directory or cannot be opened for reading.
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

  // PermissionDenied when path() leads to another directory now, or to none; says where this one
  // is.
  absl::Status CheckPath() const;
  // Whether this process now has the directory's lock, which others of its kind respect; it ends
  // with this object or the process, however that ends. File systems without locks grant it to all.
  bool TryLock() const;

 private:
  Directory(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

// A path, or a name inside a Directory, which has to outlive it. Converts from both, so that a
// function that takes a FilePath takes either.
class FilePath {
 public:
  FilePath(std::string path) : name_(std::move(path)) {}  // NOLINT: implicit
  FilePath(const char* path) : name_(path) {}             // NOLINT: implicit
  FilePath(const Directory& dir)                          // NOLINT: implicit
      : FilePath(dir, "") {}
  FilePath(const Directory& dir, std::string_view name)
      : dir_fd_(dir.fd()), dir_path_(dir.path()), name_(name) {}

  // What the system calls that end in `at` take.
  int dir_fd() const { return dir_fd_; }
  const std::string& name() const { return name_; }
  // As messages show it.
  std::string text() const;
  // Another name in the same place.
  FilePath WithName(std::string_view name) const;

 private:
  int dir_fd_ = AT_FDCWD;
  std::string dir_path_;
  std::string name_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_DIRECTORY_H_
