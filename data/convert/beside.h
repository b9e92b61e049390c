// A file that a conversion writes beside its output: what the ids in its records stand for.
#ifndef TPURUN_DATA_CONVERT_BESIDE_H_
#define TPURUN_DATA_CONVERT_BESIDE_H_

#include <string>

#include "absl/status/status.h"

namespace tpurun {

struct FileBeside {
  const char* name;  // "vocabulary.txt"
  const char* what;  // "the vocabulary"
};

// The path of the file beside the files of the prefix `output`.
std::string PathBeside(const std::string& output, const FileBeside& beside);
// InvalidArgument if the output itself has the name of that file.
absl::Status CheckNotBeside(const std::string& output, const FileBeside& beside);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_BESIDE_H_
