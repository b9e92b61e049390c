// The tokens of protobuf's text format: where fields and their values begin and end, also in a text
// that protobuf's parser refuses.
#ifndef TPURUN_CLI_CONFIG_TEXT_TOKENS_H_
#define TPURUN_CLI_CONFIG_TEXT_TOKENS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"

namespace tpurun {

// As protobuf's tokenizer counts: from 0, columns with tabs.
struct TextPosition {
  int line = 0;
  int column = 0;

  auto operator<=>(const TextPosition&) const = default;
};

using TextToken = google::protobuf::io::Tokenizer::Token;

inline TextPosition PositionOf(const TextToken& token) { return {token.line, token.column}; }

std::vector<TextToken> Tokenize(std::string_view text);

// The most nested messages and lists in a text, and the most nested messages after edits from the
// command line.
inline constexpr int kMaxNesting = 100;
std::string TooDeepMessage();

// The brace or bracket that is nested too deep for what walks the message, protobuf's parser
// first: each level of the text is a call on the stack.
std::optional<TextPosition> FindTooDeep(std::string_view text);

// What surrounds a token: the message it stands in and, for a value, its field.
struct TextPlace {
  const google::protobuf::Descriptor* descriptor;  // nullptr inside an unknown field
  // The last field named in that message; nullptr for none and for an unknown one.
  const google::protobuf::FieldDescriptor* field;
  std::string path;            // of the message
  std::optional<size_t> name;  // the token that names the field, known or not
};

// The place of the token `end`, found by walking those before it, following braces and field names.
TextPlace FindPlace(const std::vector<TextToken>& tokens, size_t end,
                    const google::protobuf::Descriptor& root, std::string_view root_path);

// Whether a value, or an element of a list, of the field that `name` names begins with the token.
bool IsValue(const std::vector<TextToken>& tokens, size_t name, size_t token);

// The first token after the field that `name` names and after its value; nullopt when what is
// opened there is not closed.
std::optional<size_t> EndOfField(const std::vector<TextToken>& tokens, size_t name);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONFIG_TEXT_TOKENS_H_
