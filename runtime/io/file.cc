#include "runtime/io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/io/file_error.h"

namespace tpurun {
namespace {

int StatAt(const FilePath& path, struct stat* info, int flags = 0) {
  return fstatat(path.dir_fd(), path.name().c_str(), info, flags);
}

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Of processes that start together and fail, each removes the directories that it has found absent.
constexpr int kMaxRemoved = 1000;

bool IsLink(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

// A descriptor, or -1 with errno.
int OpenDirectory(const FilePath& dir) {
  const char* const name = dir.name().empty() ? "." : dir.name().c_str();
  return TEMP_FAILURE_RETRY(openat(dir.dir_fd(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Makes the names in a directory durable: 0, or errno.
int SyncError(const FilePath& dir) {
  const int fd = OpenDirectory(dir);
  // One may write to some directories that one may not read, and so not open.
  if (fd < 0) return errno == EACCES ? 0 : errno;
  const int error = TEMP_FAILURE_RETRY(fsync(fd)) == 0 ? 0 : errno;
  close(fd);
  // EINVAL: a file system without directory fsync; the rename is as durable as it gets.
  return error == EINVAL ? 0 : error;
}

}  // namespace

std::string JoinPath(std::string_view dir, std::string_view name) {
  if (dir.empty() || (!name.empty() && name.front() == '/')) return std::string(name);
  std::string path(dir);
  if (path.back() != '/') path += '/';
  return path.append(name);
}

std::string DirName(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return "";
  return std::string(path.substr(0, std::max<size_t>(slash, 1)));
}

std::string BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool FileExists(const FilePath& path) {
  struct stat info;
  return StatAt(path, &info) == 0;
}

bool IsAbsent(const FilePath& path) {
  struct stat info;
  return StatAt(path, &info) != 0 && errno == ENOENT;
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::StatusOr<uint64_t> FileSize(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ReadError("cannot read", path, errno);
  if (S_ISDIR(info.st_mode)) return ReadError("cannot read", path, EISDIR);
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<FilePath> ReplaceableFile(const FilePath& path,
                                         const std::vector<std::string>& inputs) {
  struct stat info;
  // Nothing there, or creating it tells why not.
  if (StatAt(path, &info, AT_SYMLINK_NOFOLLOW) != 0) return path;
  const bool is_link = S_ISLNK(info.st_mode);
  if (is_link && StatAt(path, &info) != 0) return WriteError("cannot write", path.text(), errno);
  if (S_ISDIR(info.st_mode)) return WriteError("cannot write", path.text(), EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "cannot write ", path.text(), ": it is a device, pipe or socket, want a file"));
  }
  struct stat standard_output;
  if (fstat(STDOUT_FILENO, &standard_output) == 0 && IsSameFile(standard_output, info)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "cannot write ", path.text(), ": it is standard output too, want another file"));
  }
  for (const std::string& input : inputs) {
    struct stat read;
    if (stat(input.c_str(), &read) != 0) continue;
    if (!IsSameFile(read, info)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path.text(), " is an input too, want another name for the output"));
  }
  if (!is_link) return path;
  char* const target = realpath(path.text().c_str(), nullptr);
  if (target == nullptr) return WriteError("cannot write", path.text(), errno);
  const std::string followed = target;
  free(target);
  // The directory may have been moved since it was opened: its path leads to another link then.
  struct stat there;
  if (stat(followed.c_str(), &there) != 0 || !IsSameFile(there, info)) {
    return WriteError("cannot write", path.text(), ESTALE);
  }
  return FilePath(followed);
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const FilePath& dir) {
  const int fd = OpenDirectory(dir);
  DIR* const stream = fd < 0 ? nullptr : fdopendir(fd);
  if (stream == nullptr) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return ReadError("cannot list", dir.text(), error);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  const int error = errno;
  closedir(stream);
  if (error != 0) return ReadError("cannot list", dir.text(), error);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) {
  glob_t found = {};
  const int rc = glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
  const int error = errno;
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (rc == GLOB_NOMATCH) {
    if (pattern.find_first_of("*?[") == std::string::npos) {
      RETURN_IF_ERROR(FileSize(pattern).status());
    }
    return absl::NotFoundError(absl::StrCat("no file matches \"", pattern, "\""));
  }
  if (rc != 0) return ReadError("cannot list", pattern, error);
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::Status MakeDirectories(const std::string& path, std::vector<std::string>* made) {
  if (path.empty()) return absl::OkStatus();
  int removed = 0;  // times that another process has removed what was there
  for (size_t end = 0; end != std::string::npos;) {
    const size_t parent = end;
    end = path.find('/', end + 1);
    const std::string prefix = path.substr(0, end);
    if (mkdir(prefix.c_str(), 0777) == 0) {
      if (made != nullptr) made->push_back(prefix);
      const std::string dir = DirName(prefix);
      const int sync_error = SyncError(dir);
      if (sync_error == 0) continue;
      if (sync_error != ENOENT || ++removed > kMaxRemoved) {
        return WriteError("cannot write", dir, sync_error);
      }
      end = 0;
      continue;
    }
    // mkdir may refuse (EROFS, EACCES) before it notices that the directory is there.
    const int error = errno;
    struct stat info;
    const bool found = stat(prefix.c_str(), &info) == 0;
    if (found && S_ISDIR(info.st_mode)) continue;
    const bool is_removed =
        !found && errno == ENOENT && (error == EEXIST ? !IsLink(prefix) : parent > 0);
    if (is_removed && ++removed <= kMaxRemoved) {
      end = 0;
      continue;
    }
    if (error != EEXIST) return WriteError("cannot create directory", path, error);
    return absl::PermissionDeniedError(absl::StrCat("cannot create directory ", path, ": ",
                                                    prefix == path ? "it" : prefix,
                                                    " is not a directory"));
  }
  return absl::OkStatus();
}

absl::Status RemoveFile(const FilePath& path) {
  if (unlinkat(path.dir_fd(), path.name().c_str(), 0) != 0 && errno != ENOENT) {
    return WriteError("cannot remove", path.text(), errno);
  }
  return absl::OkStatus();
}

absl::Status SyncDirectory(const FilePath& dir) {
  const int error = SyncError(dir);
  return error == 0 ? absl::OkStatus() : WriteError("cannot write", dir.text(), error);
}

absl::StatusOr<std::string> ReadFile(const FilePath& path, uint64_t max_bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::OpenRegular(path));
  return ReadAll(*source, path.text(), max_bytes);
}

}  // namespace tpurun
