#include "proto/field_values.h"

#include "google/protobuf/text_format.h"

namespace tpurun {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string ValueText(const Message& message, const FieldDescriptor* field, int index) {
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, index, &text);
  return text;
}

const Message& Unset(const Message& message) {
  return *message.GetReflection()->GetMessageFactory()->GetPrototype(message.GetDescriptor());
}

bool IsDefault(const Message& message, const FieldDescriptor* field) {
  if (field->is_repeated() || field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return false;
  if (field->containing_oneof() != nullptr) return false;
  return ValueText(message, field) == ValueText(Unset(message), field);
}

const FieldDescriptor* ChosenKind(const Message& message) {
  const auto* const kind = message.GetDescriptor()->FindOneofByName("kind");
  return kind == nullptr ? nullptr
                         : message.GetReflection()->GetOneofFieldDescriptor(message, kind);
}

}  // namespace tpurun
