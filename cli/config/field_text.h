// The fields of a configuration in words: names, legal values, defaults, and what to say of a field
// that does not exist.
#ifndef TPURUN_CLI_CONFIG_FIELD_TEXT_H_
#define TPURUN_CLI_CONFIG_FIELD_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace tpurun {

std::vector<std::string> FieldNames(const google::protobuf::Descriptor& descriptor);

// "unknown field "NAME", did you mean ...?", or the reason why a field of TensorFlow does not exist
// here.
std::string UnknownFieldMessage(const google::protobuf::Descriptor& descriptor,
                                std::string_view path, std::string_view name);

// The legal values of a field in words: "an integer (int64)", "one of VALID, SAME".
std::string WantedValue(const google::protobuf::FieldDescriptor& field);

// The enumerators that may be given.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor& type);

// The default of a field that is not a message, in text format.
std::string DefaultText(const google::protobuf::FieldDescriptor& field);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_FIELD_TEXT_H_
