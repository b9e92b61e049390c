#include "data/sources/files.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/shard_name.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/file.h"

namespace tpurun {

void CheckFileNames(const google::protobuf::RepeatedPtrField<std::string>& names,
                    ConfigErrors& errors) {
  bool standard_input = false;
  for (int i = 0; i < names.size(); ++i) {
    const std::string path = ElementPath("file", i);
    const std::string& name = names[i];
    if (name.empty()) errors.Add(path, "file must not be empty");
    if (name != kStandardInput) continue;
    if (standard_input) errors.Add(path, "file \"-\" (standard input) can be read only once");
    standard_input = true;
  }
}

namespace {

absl::Status CheckReadable(const std::string& file) {
  if (IsDirectory(file)) {
    return absl::NotFoundError(
        absl::StrCat(file, " is a directory, want a file (\"", file, "/*\" names those in it)"));
  }
  return IsRegularFile(file) ? FileSource::Open(file).status() : FileSize(file).status();
}

std::vector<std::string> MissingShards(const std::string& prefix, int num_shards) {
  std::vector<std::string> missing;
  for (int shard = 0; shard < num_shards; ++shard) {
    const std::string path =
        ShardPath({.prefix = prefix, .shard = shard, .num_shards = num_shards});
    if (!FileExists(path)) missing.push_back(path);
  }
  return missing;
}

// That of each set of which a glob found a file, every file is there: what is left of a conversion
// that was killed, or of a copy, must not pass for the whole. A glob may choose some of the files
// that are there, and a name without wildcards means that file.
absl::Status CheckSetsComplete(const std::string& pattern, const std::vector<std::string>& files) {
  constexpr size_t kShown = 3;
  std::set<std::pair<std::string, int>> sets;
  for (const std::string& file : files) {
    const std::optional<ShardName> name = ParseShardPath(file);
    if (name.has_value()) sets.emplace(name->prefix, name->num_shards);
  }
  for (const auto& [prefix, num_shards] : sets) {
    std::vector<std::string> missing = MissingShards(prefix, num_shards);
    if (missing.empty()) continue;
    const size_t got = num_shards - missing.size();
    std::string more;
    if (missing.size() > kShown) more = absl::StrCat(" and ", missing.size() - kShown, " more");
    missing.resize(std::min(missing.size(), kShown));
    return absl::NotFoundError(
        absl::StrCat("\"", pattern, "\" finds an incomplete set: got ", got, " of the ", num_shards,
                     " files that their names speak of, want ", absl::StrJoin(missing, ", "), more,
                     " too; run tpurun convert again, or name the files to read one by one"));
  }
  return absl::OkStatus();
}

// The files of one name.
absl::StatusOr<std::vector<std::string>> ExpandFileName(const std::string& name,
                                                        const std::string& directory) {
  if (name == kStandardInput) return std::vector<std::string>{name};
  const std::string path = (std::filesystem::path(directory) / name).string();
  std::vector<std::string> files = {path};
  // A name that looks like a glob may be a file's.
  if (!FileExists(path)) {
    ASSIGN_OR_RETURN(files, Glob(path));
    RETURN_IF_ERROR(CheckSetsComplete(path, files));
  }
  for (const std::string& file : files) RETURN_IF_ERROR(CheckReadable(file));
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandFileNames(
    const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& directory,
    const std::function<std::string(const std::string& field)>& where) {
  std::vector<std::string> files;
  for (int i = 0; i < names.size(); ++i) {
    const absl::StatusOr<std::vector<std::string>> found = ExpandFileName(names[i], directory);
    if (!found.ok()) {
      return where == nullptr ? found.status()
                              : Annotate(found.status(), where(ElementPath("file", i)));
    }
    files.insert(files.end(), found->begin(), found->end());
  }
  return files;
}

bool IsRegularFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

absl::Status CheckReadableAgain(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (IsRegularFile(file)) continue;
    if (file != kStandardInput) RETURN_IF_ERROR(FileSize(file).status());  // it is gone
    return absl::InvalidArgumentError(
        absl::StrCat(FileTitle(file),
                     " cannot be read again from its start: add transform { cache "
                     "{} } before what repeats it"));
  }
  return absl::OkStatus();
}

bool NamesStandardInput(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return std::find(names.begin(), names.end(), kStandardInput) != names.end();
}

absl::StatusOr<std::string> FileIdentity(const std::string& file) {
  constexpr uint64_t kEndBytes = 64 << 10;
  if (!IsRegularFile(file)) return std::string("stream");
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> opened, RandomAccessFile::Open(file));
  std::string end(std::min(opened->size(), kEndBytes), '\0');
  RETURN_IF_ERROR(opened->ReadAt(0, end.data(), end.size()));
  const uint32_t first = crc32c::Value(end);
  RETURN_IF_ERROR(opened->ReadAt(opened->size() - end.size(), end.data(), end.size()));
  return absl::StrFormat("%d %08x %08x", opened->size(), first, crc32c::Value(end));
}

std::string JoinFileNames(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return absl::StrJoin(names, " ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, Quote(name));
  });
}

}  // namespace tpurun
