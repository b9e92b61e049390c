#include "data/sources/files.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/at_field.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {

absl::Status CheckFileNames(const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (names.empty()) {
    return AtField(absl::InvalidArgumentError("file must be given, at least one"), "file");
  }
  bool standard_input = false;
  for (int i = 0; i < names.size(); ++i) {
    const auto at_name = [i](const std::string& message) {
      return AtField(absl::InvalidArgumentError(message), ElementPath("file", i));
    };
    const std::string& name = names[i];
    if (name.empty()) return at_name("file must not be empty");
    if (absl::StartsWith(name, "gs://")) {
      return at_name(absl::StrCat("file \"", name, "\": not supported yet, copy to a local path"));
    }
    if (name != kStandardInput) continue;
    if (standard_input) return at_name("file \"-\" (standard input) can be read only once");
    standard_input = true;
  }
  return absl::OkStatus();
}

namespace {

absl::Status CheckReadable(const std::string& file) {
  if (IsDirectory(file)) {
    return absl::NotFoundError(
        absl::StrCat(file, " is a directory, want a file (\"", file, "/*\" names those in it)"));
  }
  return IsRegularFile(file) ? FileSource::Open(file).status() : absl::OkStatus();
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
  }
  for (const std::string& file : files) RETURN_IF_ERROR(CheckReadable(file));
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandFileNames(
    const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& directory) {
  std::vector<std::string> files;
  for (int i = 0; i < names.size(); ++i) {
    const absl::StatusOr<std::vector<std::string>> found = ExpandFileName(names[i], directory);
    RETURN_IF_ERROR(AtField(found.status(), ElementPath("file", i)));
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
    if (!IsRegularFile(file)) {
      return absl::InvalidArgumentError(
          absl::StrCat(FileTitle(file),
                       " cannot be read again from its start: add transform { cache "
                       "{} } before what repeats it"));
    }
  }
  return absl::OkStatus();
}

bool NamesStandardInput(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return std::find(names.begin(), names.end(), kStandardInput) != names.end();
}

std::string FileTitle(const std::string& file) {
  return file == kStandardInput ? "standard input" : file;
}

std::string JoinFileNames(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return absl::StrJoin(names, " ",
                       [](std::string* out, const std::string& name) { out->append(Quote(name)); });
}

}  // namespace tpurun
