// Changes of the configuration from the command line: --set, --unset and the flags that are fields.
#ifndef TPURUN_CLI_CONFIG_EDIT_H_
#define TPURUN_CLI_CONFIG_EDIT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "proto/source_locations.h"

namespace tpurun {

struct Edit {
  enum class Kind { kReplace, kAppend, kClear };
  Kind kind = Kind::kReplace;
  // Field names from the RunConfig on ("model.layer.logits.dense.units" is in the ModelSpec).
  std::string path;
  // Text format; quotes are optional for strings and enumerators.
  std::string value;
  // `value` is the value of a string field as it is, including quotes and brackets.
  bool raw = false;
  // The flag as the user wrote it, for messages: "--set train.max_steps=5".
  std::string flag;
};

// Parses "PATH=VALUE" or "PATH+=VALUE" of a --set flag.
absl::StatusOr<Edit> ParseSet(std::string_view text);
// Parses "PATH" of an --unset flag.
absl::StatusOr<Edit> ParseUnset(std::string_view text);

// True if the edit changes the ModelSpec: its path is "model" or starts with "model.".
bool IsModelEdit(const Edit& edit);

// Applies the edit to `root`: the ModelSpec for model edits, else the RunConfig. Records the flag
// as the location of the changed fields. An error does not name the flag and leaves `root`
// unchanged.
absl::Status ApplyEdit(const Edit& edit, google::protobuf::Message* root,
                       SourceLocations* locations);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_EDIT_H_
