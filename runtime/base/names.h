// The rules for the names in a configuration, and the one place that checks them.
#ifndef TPURUN_RUNTIME_BASE_NAMES_H_
#define TPURUN_RUNTIME_BASE_NAMES_H_

#include <string_view>

#include "absl/status/status.h"

namespace tpurun {

enum class NameKind {
  // Part of the name of a file or folder, as the name of an evaluation: ASCII letters and digits
  // and the characters _ . -, but not "." and "..".
  kFile,
  // Part of the names of variables, as the name of a layer or an optimizer: parts like kFile,
  // joined by '/'. As TensorFlow's scopes, a name begins with a letter, a digit or '.'.
  kVariable,
  // A key of data and results, as the name of a feature, a metric or a prediction: any printable
  // text.
  kKey,
};

// InvalidArgument, with the name and the rule, if the name breaks its rule or is empty.
absl::Status CheckName(NameKind kind, std::string_view name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_NAMES_H_
