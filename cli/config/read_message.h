// Reads files that consist of one protobuf message.
#ifndef TPURUN_CLI_CONFIG_READ_MESSAGE_H_
#define TPURUN_CLI_CONFIG_READ_MESSAGE_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace tpurun {

// Reads the regular file `path` into `message`. Errors call the file a `kind`, such as
// "SavedModel". DataLoss if the file is not such a message or is larger than 2 GiB, the limit of a
// message.
absl::Status ReadMessage(const std::string& path, const std::string& kind,
                         google::protobuf::MessageLite& message);

// The same for the text format, whose unknown fields are skipped. The error has the first mistake
// with its line and column.
absl::Status ReadTextMessage(const std::string& path, const std::string& kind,
                             google::protobuf::Message& message);

// Returns the tags (number and wire type) of the top-level fields, if the whole regular file `path`
// can be one message; else an empty set.
absl::StatusOr<std::set<uint32_t>> TagsOfMessage(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_READ_MESSAGE_H_
