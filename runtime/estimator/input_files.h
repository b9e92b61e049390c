// Compares the files of an input with the files that a checkpoint was trained on.
#ifndef TPURUN_RUNTIME_ESTIMATOR_INPUT_FILES_H_
#define TPURUN_RUNTIME_ESTIMATOR_INPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/spec/spec.h"

namespace tpurun {

std::vector<std::string> IdentitiesOf(const std::vector<InputFile>& files);

// InvalidArgument, naming the first file that differs, if the files do not have the saved
// identities. `saved` is empty for a checkpoint that was written before identities existed; then
// OK.
absl::Status CheckInputFiles(const std::vector<InputFile>& files,
                             const std::vector<std::string>& saved);

// The status with advice for the user added to its message.
absl::Status ChangedInput(const absl::Status& status);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_INPUT_FILES_H_
