#include "data/convert/beside.h"

#include "absl/strings/str_cat.h"
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

}  // namespace tpurun
