// Files that are one message of protobuf.
#ifndef TPURUN_CLI_CONFIG_READ_MESSAGE_H_
#define TPURUN_CLI_CONFIG_READ_MESSAGE_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"

namespace tpurun {

// Reads the regular file `path` into `message`; errors call it a `kind`, "SavedModel". DataLoss
// when it is none or larger than a message may be, 2 GiB.
absl::Status ReadMessage(const std::string& path, const std::string& kind,
                         google::protobuf::MessageLite& message);

// The tags (number and wire type) of the fields that stand in the message itself, if all of the
// regular file `path` can be one; else empty.
absl::StatusOr<std::set<uint32_t>> TagsOfMessage(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_READ_MESSAGE_H_
