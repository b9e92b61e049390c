#include "data/convert/beside.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {

std::string PathBeside(const std::string& output, const FileBeside& beside) {
  return JoinPath(DirName(output), beside.name);
}

absl::Status CheckNotBeside(const std::string& output, const FileBeside& beside) {
  if (BaseName(output) != beside.name) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--output: ", output, " is the name of ",
                                                 beside.what, ", which is written beside it"));
}

absl::Status CheckBeside(const std::string& output, const FileBeside& beside, std::string_view text,
                         std::string_view difference) {
  const std::string path = PathBeside(output, beside);
  if (IsAbsent(path)) return absl::OkStatus();
  const absl::StatusOr<std::string> there = ReadFile(path, text.size());
  if (there.ok() && *there == text) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--output: ", path, " is there already and ",
                                                 ToAbsl(difference),
                                                 " or write to another folder"));
}

}  // namespace tpurun
