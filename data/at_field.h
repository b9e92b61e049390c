// Which field an error of a source or a transform is about: they do not know where their own
// message stands, input_fn.cc does.
#ifndef TPURUN_DATA_AT_FIELD_H_
#define TPURUN_DATA_AT_FIELD_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tpurun {

// The status with the path of a field below the message that was checked: "buffer_size", "file[1]".
// A path that it already has goes below this one. OK stays OK.
absl::Status AtField(absl::Status status, std::string_view path);

// The path that AtField gave; nullopt for an error that is not about the configuration.
std::optional<std::string> FieldOf(const absl::Status& status);

}  // namespace tpurun

#endif  // TPURUN_DATA_AT_FIELD_H_
