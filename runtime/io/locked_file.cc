#include "runtime/io/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/file_error.h"

namespace tpurun {

bool IsNameOf(const FilePath& path, int fd) {
  struct stat named, open;
  return fstatat(path.dir_fd(), path.name().c_str(), &named, 0) == 0 && fstat(fd, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

absl::StatusOr<std::unique_ptr<LockedFile>> LockedFile::Open(const FilePath& path) {
  while (true) {
    const int fd =
        TEMP_FAILURE_RETRY(openat(path.dir_fd(), path.name().c_str(),
                                  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (fd < 0) return WriteError("cannot write", path.text(), errno);
    std::unique_ptr<LockedFile> file(new LockedFile(path, fd));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return absl::UnavailableError(
          absl::StrCat(path.text(),
                       " is in use by another process; start this again when that "
                       "one has ended"));
    }
    // The process that had the lock may have removed the file meanwhile.
    if (IsNameOf(path, fd)) return file;
  }
}

LockedFile::~LockedFile() { close(fd_); }

absl::Status LockedFile::Write(std::string_view bytes) {
  if (TEMP_FAILURE_RETRY(ftruncate(fd_, 0)) != 0 || lseek(fd_, 0, SEEK_SET) != 0) {
    return WriteError("cannot write", path_.text(), errno);
  }
  // A second descriptor of the same open file: closing it does not end the lock.
  const int fd = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return WriteError("cannot write", path_.text(), errno);
  FileSink sink(path_.text(), fd);
  RETURN_IF_ERROR(sink.Append(bytes));
  RETURN_IF_ERROR(sink.Sync());
  return sink.Close();
}

}  // namespace tpurun
