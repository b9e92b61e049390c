// Protobuf text format with messages for people: every error says where, got and want.
#ifndef TPURUN_CLI_TEXT_FORMAT_H_
#define TPURUN_CLI_TEXT_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace tpurun {

// One mistake in a text. Line and column count from 1.
struct TextError {
  int line = 0;
  int column = 0;
  std::string message;
};

// Levels of messages and lists in a text, and of messages in what the command line makes of it.
inline constexpr int kMaxNesting = 100;
std::string TooDeepMessage();

// Merges `text` into `message`. `path` is the config path of `message` ("" for the RunConfig), used
// in the messages. All unknown fields are reported, the first 20 one by one; any other mistake ends
// the parse, and a text that is nested too deep is not parsed at all. Locations go to `tree` unless
// it is nullptr.
std::vector<TextError> ParseText(std::string_view text, std::string_view path,
                                 google::protobuf::Message* message,
                                 google::protobuf::TextFormat::ParseInfoTree* tree);

// "unknown field "NAME", did you mean ...?", or why a field of TensorFlow does not exist here.
std::string UnknownFieldMessage(const google::protobuf::Descriptor& descriptor,
                                std::string_view path, std::string_view name);

// What may be written as the value of a field: "an integer (int64)", "one of VALID, SAME".
std::string WantedValue(const google::protobuf::FieldDescriptor& field);

// The enumerators that may be written.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor& type);

// The default of a field that is no message, in text format.
std::string DefaultText(const google::protobuf::FieldDescriptor& field);

}  // namespace tpurun

#endif  // TPURUN_CLI_TEXT_FORMAT_H_
