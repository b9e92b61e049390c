// What the names of a configuration may be made of, and the one place that checks them.
#ifndef TPURUN_RUNTIME_BASE_NAMES_H_
#define TPURUN_RUNTIME_BASE_NAMES_H_

#include <string_view>

#include "absl/status/status.h"

namespace tpurun {

enum class NameKind {
  // Part of the name of a file or folder, of an evaluation: letters and digits of ASCII and _ . -,
  // other than "." and "..".
  kFile,
  // In the names of variables, of a layer or an optimizer: parts as of kFile, joined by '/', which
  // begin as TensorFlow's scopes do with a letter, a digit or '.'.
  kVariable,
  // A key of data and results, of a feature, a metric or a prediction: any printable text.
  kKey,
};

// InvalidArgument says what was got and what is wanted; no name may be empty.
absl::Status CheckName(NameKind kind, std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_NAMES_H_
