// The files of an input beside those that a checkpoint was trained on.
#ifndef TPURUN_RUNTIME_ESTIMATOR_INPUT_FILES_H_
#define TPURUN_RUNTIME_ESTIMATOR_INPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/spec/spec.h"

namespace tpurun {

std::vector<std::string> IdentitiesOf(const std::vector<InputFile>& files);

// Whether the files are those of the saved identities, of which there are none in a checkpoint
// written before there were any; InvalidArgument names the first that is not.
absl::Status CheckInputFiles(const std::vector<InputFile>& files,
                             const std::vector<std::string>& saved);

// The status, with what to do about it.
absl::Status ChangedInput(const absl::Status& status);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_INPUT_FILES_H_
