// What the reports of protobuf's text parser and tokenizer say, in our words.
#ifndef TPURUN_CLI_CONFIG_TEXT_MISTAKES_H_
#define TPURUN_CLI_CONFIG_TEXT_MISTAKES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/config/text_tokens.h"

namespace tpurun {

// Of the parser or its tokenizer.
struct TextReport {
  TextPosition position;
  std::string message;
};

// A report in our words.
struct TextMistake {
  std::string message;
  bool refused = false;  // as of ConfigError
  // The token that names the field to leave out; nullopt when what stands where is not known.
  std::optional<size_t> field = std::nullopt;
  // The field that the text meant to give, as far as that is known.
  std::string unread_path = {};
  // Its message may look incomplete without it: no kind is given, a length is missing.
  bool incomplete = false;
  // It is about a place inside a token, the one that the report names.
  bool in_token = false;
};

// Turns protobuf's report into ours; `token` is the one it is about.
TextMistake TranslateReport(const std::string& report, const TextPlace& place,
                            const std::vector<TextToken>& tokens, size_t token);

// The token that the report is about: parsers report after reading the name or value they refuse.
size_t FindToken(const std::vector<TextToken>& tokens, const TextReport& report);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_TEXT_MISTAKES_H_
