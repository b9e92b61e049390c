#include "runtime/io/directory.h"

#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "runtime/io/file.h"
#include "runtime/io/file_error.h"

namespace tpurun {
namespace {

// The path of an open directory, as the system knows it now; empty when it is deleted or the system
// does not say.
std::string PathNow(int fd) {
  struct stat held;
  if (fstat(fd, &held) != 0 || held.st_nlink == 0) return "";
  char path[PATH_MAX];
  const ssize_t size = readlink(absl::StrCat("/proc/self/fd/", fd).c_str(), path, sizeof(path));
  return size > 0 ? std::string(path, size) : "";
}

}  // namespace

absl::StatusOr<Directory> Directory::Open(const std::string& path) {
  const int fd = TEMP_FAILURE_RETRY(
      open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd >= 0) return Directory(path, fd);
  if (errno != ENOTDIR) return WriteError("cannot write to", path, errno);
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write to ", path, ": it is not a directory"));
}

Directory::~Directory() {
  if (fd_ >= 0) close(fd_);
}

absl::Status Directory::CheckPath() const {
  struct stat held, there;
  if (fstat(fd_, &held) != 0) return WriteError("cannot write to", path_, errno);
  const bool absent = stat(path_.empty() ? "." : path_.c_str(), &there) != 0;
  if (!absent && held.st_dev == there.st_dev && held.st_ino == there.st_ino) {
    return absl::OkStatus();
  }
  const std::string now = PathNow(fd_);
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write to ", path_, ": the directory that was opened by that name ",
                   now.empty() ? "is deleted" : absl::StrCat("is ", now, " now"), ", and ",
                   absent ? "nothing is" : "another one is", " in its place"));
}

bool Directory::TryLock() const {
  return flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

std::string FilePath::text() const {
  return name_.empty() ? dir_path_ : JoinPath(dir_path_, name_);
}

FilePath FilePath::WithName(std::string_view name) const {
  FilePath other = *this;
  other.name_ = name;
  return other;
}

}  // namespace tpurun
