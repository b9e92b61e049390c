// A file that a conversion writes beside its output: what the ids in its records stand for.
#ifndef TPURUN_DATA_CONVERT_BESIDE_H_
#define TPURUN_DATA_CONVERT_BESIDE_H_

#include <string>
#include <string_view>

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
// InvalidArgument if a file of other bytes than `text` is there: files of other ids may lie beside
// it, so it is never replaced. `difference` follows "PATH is there already and ": what is wrong
// with it and what to do, as far as "or write to another folder".
absl::Status CheckBeside(const std::string& output, const FileBeside& beside, std::string_view text,
                         std::string_view difference);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_BESIDE_H_
