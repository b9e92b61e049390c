// Reads the values of the fields of any message, by reflection.
#ifndef TPURUN_PROTO_FIELD_VALUES_H_
#define TPURUN_PROTO_FIELD_VALUES_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace tpurun {

// A value in text format, or the default of a field that is not set, with texts as Quote writes
// them: readable in any language. `index` is the index of an element of a repeated field, else -1.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index = -1);

// The same for all fields of a message, on one line: "units: 8 activation: RELU".
std::string FieldsText(const google::protobuf::Message& message);
// The same with a line each.
std::string FieldLines(const google::protobuf::Message& message);

// An empty message of the same type.
const google::protobuf::Message& Unset(const google::protobuf::Message& message);

// True if the value of the field equals its default. False for a repeated field, a message and a
// member of a oneof: for these, being set matters.
bool IsDefault(const google::protobuf::Message& message,
               const google::protobuf::FieldDescriptor* field);

// The field that is set in the oneof `kind`. nullptr if none is set or there is no such oneof.
const google::protobuf::FieldDescriptor* ChosenKind(const google::protobuf::Message& message);

}  // namespace tpurun

#endif  // TPURUN_PROTO_FIELD_VALUES_H_
