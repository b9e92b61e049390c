#include "cli/config/text_tokens.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "proto/source_locations.h"
#include "proto/text_errors.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::Tokenizer;

// Calls visit(token) for the tokens in order until it returns false.
template <typename Visit>
void ForEachToken(std::string_view text, Visit visit) {
  ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  IgnoredTextErrors ignore;
  Tokenizer tokenizer(&stream, &ignore);
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_require_space_after_number(false);
  tokenizer.set_allow_multiline_strings(true);
  while (tokenizer.Next() && visit(tokenizer.current())) {
  }
}

bool StartsValue(const std::string& text) {
  return text == ":" || text == "{" || text == "<" || text == "[";
}

}  // namespace

std::vector<TextToken> Tokenize(std::string_view text) {
  std::vector<TextToken> tokens;
  ForEachToken(text, [&](const TextToken& token) {
    tokens.push_back(token);
    return true;
  });
  return tokens;
}

std::string TooDeepMessage() {
  return absl::StrCat("nested deeper than ", kMaxNesting, " messages");
}

std::optional<TextPosition> FindTooDeep(std::string_view text) {
  std::optional<TextPosition> position;
  int depth = 0;
  ForEachToken(text, [&](const TextToken& token) {
    if (token.text == "{" || token.text == "<" || token.text == "[") ++depth;
    if (token.text == "}" || token.text == ">" || token.text == "]") --depth;
    if (depth <= kMaxNesting) return true;
    position = {token.line, token.column};
    return false;
  });
  return position;
}
TextPlace FindPlace(const std::vector<TextToken>& tokens, size_t end, const Descriptor& root,
                    std::string_view root_path) {
  std::vector<TextPlace> stack = {{&root, nullptr, std::string(root_path), std::nullopt}};
  std::map<std::string, int> seen;  // elements of each repeated field so far, by path
  std::string field_path(root_path);
  for (size_t i = 0; i < end; ++i) {
    const std::string& token = tokens[i].text;
    TextPlace& place = stack.back();
    if (token == "{" || token == "<") {
      const Descriptor* nested = place.field ? place.field->message_type() : nullptr;
      std::string path = field_path;
      if (place.field && place.field->is_repeated()) path = ElementPath(path, seen[field_path]++);
      stack.push_back({nested, nullptr, std::move(path), std::nullopt});
    } else if (token == "}" || token == ">") {
      if (stack.size() > 1) stack.pop_back();
      if (stack.back().field) field_path = FieldPath(stack.back().path, stack.back().field->name());
    } else if (tokens[i].type == Tokenizer::TYPE_IDENTIFIER && i + 1 < tokens.size() &&
               StartsValue(tokens[i + 1].text)) {
      place.field = place.descriptor ? place.descriptor->FindFieldByName(token) : nullptr;
      place.name = i;
      field_path = FieldPath(place.path, token);
    }
  }
  return stack.back();
}
bool IsValue(const std::vector<TextToken>& tokens, size_t name, size_t token) {
  if (token <= name || token >= tokens.size() || tokens[token].text == ":") return false;
  const std::string& before = tokens[token - 1].text;
  if (before == ":" || before == "[" || before == "-") return true;
  if (StartsValue(tokens[token].text)) return false;
  if (before != ",") return StartsValue(before);
  int lists = 0;
  for (size_t i = name; i < token; ++i) {
    if (tokens[i].text == "[") ++lists;
    if (tokens[i].text == "]") --lists;
  }
  return lists > 0;
}
std::optional<size_t> EndOfField(const std::vector<TextToken>& tokens, size_t name) {
  size_t end = name;
  const auto text = [&] { return end < tokens.size() ? tokens[end].text : ""; };
  const auto skip_brackets = [&] {
    int depth = 0;
    do {
      if (text().empty()) return false;
      if (text() == "{" || text() == "<" || text() == "[") ++depth;
      if (text() == "}" || text() == ">" || text() == "]") --depth;
      ++end;
    } while (depth > 0);
    return true;
  };
  if (text() != "[") {
    ++end;
  } else if (!skip_brackets()) {  // the name of an extension
    return std::nullopt;
  }
  if (text() == ":") ++end;
  const auto is = [&](Tokenizer::TokenType type) {
    return end < tokens.size() && tokens[end].type == type;
  };
  if (StartsValue(text()) && text() != ":") {
    if (!skip_brackets()) return std::nullopt;
  } else {
    while (text() == "-") ++end;
    // Nothing, where the next field begins or the message ends.
    const bool next_field = is(Tokenizer::TYPE_IDENTIFIER) && end + 1 < tokens.size() &&
                            StartsValue(tokens[end + 1].text);
    if (is(Tokenizer::TYPE_STRING)) {
      while (is(Tokenizer::TYPE_STRING)) ++end;
    } else if (!next_field && !is(Tokenizer::TYPE_SYMBOL) && end < tokens.size()) {
      ++end;
    }
  }
  return text() == "," || text() == ";" ? end + 1 : end;
}
}  // namespace tpurun
