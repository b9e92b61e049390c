#include "proto/field_values.h"

#include <memory>

#include "absl/strings/ascii.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/text.h"

namespace tpurun {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

namespace {

class QuotedText : public TextFormat::FastFieldValuePrinter {
 public:
  void PrintString(const std::string& value,
                   TextFormat::BaseTextGenerator* generator) const override {
    generator->PrintString(Quote(value));
  }
};

std::unique_ptr<const TextFormat::Printer> MakePrinter(bool on_one_line) {
  auto printer = std::make_unique<TextFormat::Printer>();
  printer->SetSingleLineMode(on_one_line);
  printer->SetDefaultFieldValuePrinter(new QuotedText);  // it becomes the owner
  return printer;
}

}  // namespace

std::string ValueText(const Message& message, const FieldDescriptor* field, int index) {
  static const TextFormat::Printer& printer = *MakePrinter(false).release();
  std::string text;
  printer.PrintFieldValueToString(message, field, index, &text);
  return text;
}

std::string FieldsText(const Message& message) {
  static const TextFormat::Printer& printer = *MakePrinter(true).release();
  std::string text;
  printer.PrintToString(message, &text);
  return std::string(absl::StripTrailingAsciiWhitespace(text));
}

std::string FieldLines(const Message& message) {
  std::string text;
  MakePrinter(false)->PrintToString(message, &text);
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
