#include "runtime/io/numbered_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/file_error.h"

namespace tpurun {
namespace {

constexpr char kTemporary[] = "temp-";
constexpr int kMostWaits = 10;

bool IsNumber(std::string_view name) {
  return std::all_of(name.begin(), name.end(), absl::ascii_isdigit) && ParseInt64(name).has_value();
}

bool IsTemporary(const std::string& name) {
  return absl::StartsWith(name, kTemporary) &&
         IsNumber(std::string_view(name).substr(sizeof(kTemporary) - 1));
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

// Of the numbered directories in BASE; -1 if there is none.
int64_t NewestNumber(const std::string& base) {
  const std::vector<std::string> paths = NumberedDirectories(base);
  return paths.empty() ? -1 : ParseInt64(BaseName(paths.back())).value_or(-1);
}

// The bytes of each file below the directory, by its path from there. nullopt if they cannot be
// told.
std::optional<std::map<std::string, uint64_t>> SizesOf(const std::string& dir) {
  std::map<std::string, uint64_t> sizes;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(dir, error);
  for (; !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_directory(error)) continue;
    if (!error) sizes[it->path().lexically_relative(dir).string()] = it->file_size(error);
    if (error) return std::nullopt;
  }
  return error ? std::nullopt : std::optional(std::move(sizes));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NumberedDirectory>> NumberedDirectory::Create(
    const std::string& base, const Clock& clock) {
  RETURN_IF_ERROR(MakeDirectories(base));
  RemoveLeftovers(base);
  for (int waits = 0; waits <= kMostWaits; ++waits, clock.wait_second()) {
    const int64_t newest = NewestNumber(base), now = clock.seconds();
    const std::string number = absl::StrCat(newest > now ? newest + 1 + waits : now);
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

std::vector<std::string> NumberedDirectories(const std::string& base) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(base);
  std::vector<std::string> numbers;
  if (names.ok()) std::copy_if(names->begin(), names->end(), std::back_inserter(numbers), IsNumber);
  std::sort(numbers.begin(), numbers.end(), [](const std::string& x, const std::string& y) {
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  std::vector<std::string> paths;
  for (const std::string& number : numbers) paths.push_back(JoinPath(base, number));
  return paths;
}

bool HaveEqualFiles(const std::string& x, const std::string& y) {
  const auto of_x = SizesOf(x), of_y = SizesOf(y);
  if (!of_x.has_value() || of_x != of_y) return false;
  for (const auto& [name, size] : *of_x) {
    std::ifstream left(JoinPath(x, name), std::ios::binary);
    std::ifstream right(JoinPath(y, name), std::ios::binary);
    std::array<char, 1 << 16> left_bytes, right_bytes;
    for (uint64_t at = 0; at < size; at += left_bytes.size()) {
      const uint64_t count = std::min<uint64_t>(size - at, left_bytes.size());
      left.read(left_bytes.data(), static_cast<std::streamsize>(count));
      right.read(right_bytes.data(), static_cast<std::streamsize>(count));
      if (!left || !right) return false;
      if (std::memcmp(left_bytes.data(), right_bytes.data(), count) != 0) return false;
    }
  }
  return true;
}

absl::Status RemoveNumbered(const std::string& path) {
  const std::string nameless = JoinPath(DirName(path), kTemporary + BaseName(path));
  if (std::rename(path.c_str(), nameless.c_str()) != 0) {
    return WriteError("cannot remove", path, errno);
  }
  RemoveAll(nameless);
  return absl::OkStatus();
}

absl::Status KeepNewest(const std::string& base, int64_t keep) {
  RemoveLeftovers(base);
  std::vector<std::string> paths = NumberedDirectories(base);
  if (keep == 0 || std::ssize(paths) <= keep) return absl::OkStatus();
  paths.resize(paths.size() - static_cast<size_t>(keep));
  for (const std::string& path : paths) RETURN_IF_ERROR(RemoveNumbered(path));
  return absl::OkStatus();
}

}  // namespace tpurun
