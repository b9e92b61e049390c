// Parses protobuf text format with readable messages: every error has the place, the actual text
// and the expected text.
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

struct ParsedText {
  // The places of the message's fields.
  std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree> tree;
  // The structure is wrong (a brace, a quote), or there are too many mistakes: the message is
  // unusable.
  bool broken = false;
  // The fields that the text sets but that could not be read, and the messages that are incomplete
  // for that reason. Missing fields or incomplete messages among these are not further mistakes.
  std::vector<std::string> unread;
  std::vector<std::string> incomplete;
};

// Parses `text` into `message`, which is empty. `path` is the config path of `message` ("" for the
// RunConfig), for the error messages; `file` is the name to print. A field with a mistake is left
// out.
ParsedText ParseText(std::string_view text, std::string_view path, const std::string& file,
                     google::protobuf::Message* message, ConfigErrors& errors);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_TEXT_FORMAT_H_
