// OutputFile, and the functions of file.h for temporary files.
#include "runtime/io/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/io/file_error.h"
#include "runtime/io/locked_file.h"

namespace tpurun {
namespace {

// TensorFlow's own for files in the making; followed by the process's number.
constexpr char kTemporarySuffix[] = ".tempstate";

// The final name of a temporary one; empty for other names. TensorFlow's are not hidden.
std::string FinalName(const std::string& name) {
  const size_t suffix = name.rfind(kTemporarySuffix);
  if (suffix == std::string::npos) return "";
  const std::string process = name.substr(suffix + sizeof(kTemporarySuffix) - 1);
  if (process.empty() || process.find_first_not_of("0123456789") != std::string::npos) return "";
  const size_t begin = name.front() == '.' ? 1 : 0;
  return begin < suffix ? name.substr(begin, suffix - begin) : "";
}

// Removes a temporary file unless it is being written; whether it was not.
absl::StatusOr<bool> RemoveLeftover(const FilePath& path) {
  // For writing: NFS locks no other descriptor. What cannot be opened so is not this user's.
  const int fd = TEMP_FAILURE_RETRY(
      openat(path.dir_fd(), path.name().c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd < 0) return errno == ENOENT;
  const bool left = flock(fd, LOCK_EX | LOCK_NB) == 0;
  // Another process may have removed the file meanwhile, and a third made a new one of the name.
  const absl::Status removed = left && IsNameOf(path, fd) ? RemoveFile(path) : absl::OkStatus();
  close(fd);
  RETURN_IF_ERROR(removed);
  return left;
}

// The temporary file of `path`: new, locked, open for writing.
absl::StatusOr<int> CreateLocked(const FilePath& path) {
  const FilePath temporary = TemporaryName(path);
  while (true) {
    const int fd = TEMP_FAILURE_RETRY(openat(temporary.dir_fd(), temporary.name().c_str(),
                                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd < 0 && errno != EEXIST) return WriteError("cannot write", path.text(), errno);
    if (fd < 0) {
      ASSIGN_OR_RETURN(const bool removed, RemoveLeftover(temporary));
      if (removed) continue;
      return absl::PermissionDeniedError(
          absl::StrCat("cannot write ", path.text(), ": ", temporary.text(),
                       " is there: another process of this number is writing it, or left it where "
                       "no file can be locked: wait for that one, or remove the file"));
    }
    // Between the two calls RemoveLeftover of another process may take the file for a leftover: it
    // holds the lock for a moment, and then the name is gone.
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (IsNameOf(temporary, fd)) return fd;
    close(fd);
  }
}

}  // namespace

std::string TemporaryName(const std::string& path) {
  return JoinPath(DirName(path), absl::StrCat(".", BaseName(path), kTemporarySuffix, getpid()));
}

FilePath TemporaryName(const FilePath& path) { return path.WithName(TemporaryName(path.name())); }

absl::Status RemoveTemporaryFiles(const FilePath& dir,
                                  const std::function<bool(const std::string& name)>& of) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  for (const std::string& name : names) {
    const std::string final_name = FinalName(name);
    if (final_name.empty() || (of != nullptr && !of(final_name))) continue;
    RETURN_IF_ERROR(RemoveLeftover(dir.WithName(JoinPath(dir.name(), name))).status());
  }
  return absl::OkStatus();
}

void RemoveTemporaryFilesOf(const FilePath& path) {
  RemoveTemporaryFiles(path.WithName(DirName(path.name())), [&](const std::string& name) {
    return name == BaseName(path.name());
  }).IgnoreError();
}

absl::Status RenameFile(const FilePath& from, const FilePath& to) {
  if (renameat(from.dir_fd(), from.name().c_str(), to.dir_fd(), to.name().c_str()) != 0) {
    return WriteError("cannot write", to.text(), errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const FilePath& path) {
  ASSIGN_OR_RETURN(const int fd, CreateLocked(path));
  return std::unique_ptr<OutputFile>(
      new OutputFile(path, std::make_unique<FileSink>(path.text(), fd)));
}

OutputFile::~OutputFile() {
  if (!renamed_) RemoveFile(TemporaryName(path_)).IgnoreError();
}

absl::Status OutputFile::Append(std::string_view bytes) {
  if (closed_) return absl::InternalError(absl::StrCat("append to closed file ", path_.text()));
  return sink_->Append(bytes);
}

absl::Status OutputFile::Close() {
  if (closed_) return absl::OkStatus();
  RETURN_IF_ERROR(sink_->Sync());
  closed_ = true;
  return absl::OkStatus();
}

absl::Status OutputFile::RenameTo(const FilePath& path) {
  RETURN_IF_ERROR(RenameFile(TemporaryName(path_), path));
  renamed_ = true;
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  RETURN_IF_ERROR(Close());
  RETURN_IF_ERROR(Rename());
  return SyncDirectory(path_.WithName(DirName(path_.name())));
}

absl::Status WriteFileAtomically(const FilePath& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(path));
  RemoveTemporaryFilesOf(file);
  ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> output, OutputFile::Create(file));
  RETURN_IF_ERROR(output->Append(bytes));
  return output->Commit();
}

}  // namespace tpurun
