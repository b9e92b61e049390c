// Serializes messages to bytes that depend only on their values.
#ifndef TPURUN_PROTO_SERIALIZE_H_
#define TPURUN_PROTO_SERIALIZE_H_

#include <string>

#include "google/protobuf/message_lite.h"

namespace tpurun {

// Sorts maps by key, like TensorFlow's deterministic serialization. SerializeAsString writes maps
// in the order of a hash that differs from run to run. Do not use it for messages with maps, such
// as tf.Example.
std::string SerializeDeterministically(const google::protobuf::MessageLite& message);

}  // namespace tpurun

#endif  // TPURUN_PROTO_SERIALIZE_H_
