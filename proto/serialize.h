// Messages as bytes that depend on nothing but their values.
#ifndef TPURUN_PROTO_SERIALIZE_H_
#define TPURUN_PROTO_SERIALIZE_H_

#include <string>

#include "google/protobuf/message_lite.h"

namespace tpurun {

// Maps sorted by key, as TensorFlow has them when told to be deterministic. SerializeAsString
// writes them in the order of a hash that differs from run to run: it is not for messages with
// maps, such as tf.Example.
std::string SerializeDeterministically(const google::protobuf::MessageLite& message);

}  // namespace tpurun

#endif  // TPURUN_PROTO_SERIALIZE_H_
