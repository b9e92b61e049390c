#include "runtime/estimator/input_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tpurun {

std::vector<std::string> IdentitiesOf(const std::vector<InputFile>& files) {
  std::vector<std::string> identities;
  for (const InputFile& file : files) identities.push_back(file.identity);
  return identities;
}

absl::Status CheckInputFiles(const std::vector<InputFile>& files,
                             const std::vector<std::string>& saved) {
  if (saved.empty()) return absl::OkStatus();
  for (size_t i = 0; i < files.size() && i < saved.size(); ++i) {
    if (files[i].identity == saved[i]) continue;
    const auto earlier = std::find(saved.begin(), saved.end(), files[i].identity);
    if (earlier != saved.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(files[i].name, " was file ", earlier - saved.begin() + 1, " of ",
                       saved.size(), " of the input, now it is file ", i + 1));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        files[i].name, " is not the file that was trained on: got length and checksums ",
        files[i].identity, ", want ", saved[i]));
  }
  if (files.size() == saved.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the input has ", files.size(), files.size() == 1 ? " file" : " files",
                   ", it had ", saved.size(), " when it was trained on"));
}

absl::Status ChangedInput(const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrCat(
          status.message(),
          "; go on with the input as it was, or with this one by --allow_changed_input "
          "(where it was, or else from its beginning): weights, slots and global_step stay"));
}

}  // namespace tpurun
