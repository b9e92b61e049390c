#include "runtime/io/numbered_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/file_error.h"

namespace tpurun {
namespace {

constexpr char kTemporary[] = "temp-";
constexpr int kMostWaits = 10;

bool IsTemporary(const std::string& name) {
  if (!absl::StartsWith(name, kTemporary) || name == kTemporary) return false;
  for (const char c : name.substr(sizeof(kTemporary) - 1)) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return true;
}

// What cannot be removed stays: it keeps nobody from writing.
void RemoveAll(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void RemoveLeftovers(const std::string& base) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(base);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!IsTemporary(name)) continue;
    const std::string path = JoinPath(base, name);
    const absl::StatusOr<Directory> left = Directory::Open(path);
    if (left.ok() && left->TryLock()) RemoveAll(path);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<NumberedDirectory>> NumberedDirectory::Create(
    const std::string& base, const Clock& clock) {
  RETURN_IF_ERROR(MakeDirectories(base));
  RemoveLeftovers(base);
  for (int waits = 0; waits <= kMostWaits; ++waits, clock.wait_second()) {
    const std::string number = absl::StrCat(clock.seconds());
    const std::string final = JoinPath(base, number);
    const std::string temporary = JoinPath(base, kTemporary + number);
    if (!IsAbsent(final)) continue;
    if (mkdir(temporary.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return WriteError("cannot make", temporary, errno);
    }
    absl::StatusOr<Directory> locked = Directory::Open(temporary);
    // Another export may have taken it for a leftover before it was locked.
    if (IsAbsent(temporary)) continue;
    if (!locked.ok()) {
      RemoveAll(temporary);
      return locked.status();
    }
    if (!locked->TryLock() || !locked->CheckPath().ok()) continue;
    return std::unique_ptr<NumberedDirectory>(
        new NumberedDirectory(base, temporary, final, *std::move(locked)));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "cannot write to ", base, ": each of ", kMostWaits + 1,
      " seconds was taken by another export; try again later, or give another directory"));
}

absl::StatusOr<std::unique_ptr<NumberedDirectory>> NumberedDirectory::Create(
    const std::string& base) {
  return Create(base,
                {.seconds = [] { return static_cast<int64_t>(std::time(nullptr)); },
                 .wait_second = [] { std::this_thread::sleep_for(std::chrono::seconds(1)); }});
}

NumberedDirectory::~NumberedDirectory() {
  if (!published_) RemoveAll(temporary_);
}

absl::StatusOr<std::string> NumberedDirectory::Publish() {
  RETURN_IF_ERROR(SyncDirectory(temporary_));
  if (std::rename(temporary_.c_str(), final_.c_str()) != 0) {
    return WriteError("cannot write", final_, errno);
  }
  const absl::Status durable = SyncDirectory(base_);
  // Not to be told of an error and find the directory all the same.
  published_ = durable.ok() || std::rename(final_.c_str(), temporary_.c_str()) != 0;
  RETURN_IF_ERROR(durable);
  return final_;
}

}  // namespace tpurun
