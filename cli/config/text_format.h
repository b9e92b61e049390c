// Protobuf text format with messages for people: every error says where, got and want.
#ifndef TPURUN_CLI_CONFIG_TEXT_FORMAT_H_
#define TPURUN_CLI_CONFIG_TEXT_FORMAT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "proto/config_errors.h"

namespace tpurun {

// Levels of messages and lists in a text, and of messages in what the command line makes of it.
inline constexpr int kMaxNesting = 100;
std::string TooDeepMessage();

struct ParsedText {
  // Where the fields of the message stand.
  std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree> tree;
  // A mistake of its structure (a brace, a quote), or too many mistakes: the message is of no use.
  bool broken = false;
  // The fields that the text meant to give, but that could not be read, and the messages that lack
  // something for it: that they are missing, or incomplete, is no further mistake.
  std::vector<std::string> unread;
  std::vector<std::string> incomplete;
};

// Parses `text` into `message`, which is empty. `path` is the config path of `message` ("" for the
// RunConfig), used in the messages; `file` is the name to print. A field with a mistake is left
// out.
ParsedText ParseText(std::string_view text, std::string_view path, const std::string& file,
                     google::protobuf::Message* message, ConfigErrors& errors);

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

#endif  // TPURUN_CLI_CONFIG_TEXT_FORMAT_H_
