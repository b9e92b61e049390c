#include "runtime/checkpoint/first_writes.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/file_error.h"
#include "runtime/io/output_file.h"

namespace tpurun {
namespace {

int Rename(const FilePath& from, const FilePath& to) {
  return renameat(from.dir_fd(), from.name().c_str(), to.dir_fd(), to.name().c_str());
}

int Link(const FilePath& from, const FilePath& to) {
  return linkat(from.dir_fd(), from.name().c_str(), to.dir_fd(), to.name().c_str(), 0);
}

// One that is no longer empty stays, and one that another process has locked, to write there.
void RemoveDirectory(const std::string& path, const Directory& locked) {
  const bool is_locked = locked.is_open() && locked.path() == path;
  const absl::StatusOr<Directory> dir = is_locked ? Directory() : Directory::Open(path);
  if (is_locked || (dir.ok() && dir->TryLock())) rmdir(path.c_str());
}

}  // namespace

absl::Status FirstWrites::MakeDirectory(const std::string& dir) {
  // A directory that another process makes at the same time is also one that was absent. One that
  // was there may be removed and made again here.
  std::vector<std::string> absent;
  for (std::string path = dir; !path.empty() && !FileExists(path); path = DirName(path)) {
    absent.push_back(path);
  }
  const absl::Status status = MakeDirectories(dir, &absent);
  directories_.insert(absent.begin(), absent.end());
  return status;
}

absl::Status FirstWrites::WriteFile(const FilePath& path, const std::string& bytes) {
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(path));
  Replaced replaced{.path = file};
  if (FileExists(file)) {
    // A second name takes no space: what was there can be restored on a full disk.
    const FilePath before = file.WithName(file.name() + ".before");
    RemoveTemporaryFilesOf(before);
    replaced.before = TemporaryName(before);
    // Some file systems have no second names.
    if (Link(file, *replaced.before) != 0 && Rename(file, *replaced.before) != 0) {
      return WriteError("cannot write", file.text(), errno);
    }
  }
  replaced_.push_back(replaced);
  return WriteFileAtomically(file, bytes);
}

void FirstWrites::Keep() {
  for (const Replaced& replaced : replaced_) {
    if (replaced.before.has_value()) RemoveFile(*replaced.before).IgnoreError();
  }
  Forget();
}

void FirstWrites::Forget() {
  directories_.clear();
  replaced_.clear();
  created_.clear();
}

void FirstWrites::Undo(const Directory& dir) {
  for (auto path = created_.rbegin(); path != created_.rend(); ++path) {
    RemoveFile(*path).IgnoreError();
  }
  for (const Replaced& replaced : replaced_) {
    if (!replaced.before.has_value()) {
      RemoveFile(replaced.path).IgnoreError();
    } else if (Rename(*replaced.before, replaced.path) == 0) {
      // Of a file that was not replaced after all these were two names, and still are.
      RemoveFile(*replaced.before).IgnoreError();
    }
  }
  const bool moved = dir.is_open() && !dir.CheckPath().ok();
  for (auto path = directories_.rbegin(); !moved && path != directories_.rend(); ++path) {
    RemoveDirectory(*path, dir);
  }
  Forget();
}

}  // namespace tpurun
