// Mistakes in a config message, found without knowing the file that it came from: the caller puts
// the message's own path before `path` and looks the line up.
#ifndef TPURUN_PROTO_CONFIG_ERROR_H_
#define TPURUN_PROTO_CONFIG_ERROR_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace tpurun {

struct ConfigError {
  std::string path;     // below the message that was checked: "adagrad.initial_accumulator_value"
  std::string message;  // what, got, want
};

using ConfigErrors = std::vector<ConfigError>;

// Appends an error for each field of `message` that is set away from its default and is not among
// `read`: nothing that a user writes is ignored in silence. `path` is the message's own, "" or
// "adagrad".
void RefuseUnreadFields(const google::protobuf::Message& message,
                        const std::vector<std::string>& read, const std::string& path,
                        ConfigErrors& errors);

// The fields of a message that something acts on; the others are refused. `of` is the message
// ("tpurun.proto.Optimizer"), or a choice of a oneof whose message it is there
// ("tpurun.proto.Optimizer.adam"). Of a message without a row all fields are acted on.
struct ReadFields {
  std::string of;
  std::vector<std::string> fields;
};

// Appends errors whose paths are below `path`.
void AppendUnder(const std::string& path, const ConfigErrors& found, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_PROTO_CONFIG_ERROR_H_
