// What the fields of any message are set to, by reflection.
#ifndef TPURUN_PROTO_FIELD_VALUES_H_
#define TPURUN_PROTO_FIELD_VALUES_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace tpurun {

// A value as the text format has it, of an unset field its default. `index` is that of an element
// of a repeated field, else -1.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index = -1);

// A message of the same type in which nothing is set.
const google::protobuf::Message& Unset(const google::protobuf::Message& message);

// Whether the field has the value that it has when it is not set. False of a repeated field, a
// message and a member of a oneof, which are as they are set.
bool IsDefault(const google::protobuf::Message& message,
               const google::protobuf::FieldDescriptor* field);

// The field set in the oneof `kind`; null when none is, or there is no such oneof.
const google::protobuf::FieldDescriptor* ChosenKind(const google::protobuf::Message& message);

}  // namespace tpurun

#endif  // TPURUN_PROTO_FIELD_VALUES_H_
