#include "tests/structure/definitions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tpurun {
namespace {

struct Token {
  std::string text;
  int line = 0;
};
using Tokens = std::span<const Token>;

bool IsWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsWordPart(char c) { return IsWordStart(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool IsWord(const Token& token) { return IsWordStart(token.text[0]); }

// Words, numbers, "::" and single characters; a literal is one token `""`, "operator==" is a word.
// Comments and lines of the preprocessor are left out.
class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> Run() {
    while (at_ < text_.size()) Next();
    return std::move(tokens_);
  }

 private:
  bool Comes(std::string_view text) const {
    return std::string_view(text_).substr(at_, text.size()) == text;
  }
  void SkipTo(size_t end) {
    end = std::min(end, text_.size());
    line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + end, '\n'));
    at_ = end;
  }
  // Just behind the next `end`.
  void SkipBehind(const std::string& end, size_t from) {
    const size_t found = text_.find(end, from);
    SkipTo(found == std::string::npos ? found : found + end.size());
  }
  void Add(std::string token) { tokens_.push_back({std::move(token), line_}); }

  void Next() {
    const char c = text_[at_];
    const bool digit = std::isdigit(static_cast<unsigned char>(c));
    if (std::isspace(static_cast<unsigned char>(c))) {
      SkipTo(at_ + 1);
    } else if (Comes("//")) {
      SkipTo(text_.find('\n', at_));
    } else if (Comes("/*")) {
      SkipBehind("*/", at_ + 2);
    } else if (c == '#') {
      SkipDirective();
    } else if (Comes("R\"")) {
      Add("\"\"");
      const size_t open = text_.find('(', at_);
      SkipBehind(absl::StrCat(")", text_.substr(at_ + 2, open - at_ - 2), "\""), open);
    } else if (c == '"' || c == '\'') {
      Add("\"\"");
      SkipLiteral(c);
    } else if (IsWordStart(c) || digit) {
      size_t end = at_;
      while (end < text_.size() && (IsWordPart(text_[end]) || (digit && text_[end] == '\''))) ++end;
      if (text_.substr(at_, end - at_) == "operator") end = text_.find('(', end + 1);
      Add(text_.substr(at_, end - at_));
      SkipTo(end);
    } else {
      Add(Comes("::") ? "::" : std::string(1, c));
      SkipTo(at_ + tokens_.back().text.size());
    }
  }

  void SkipDirective() {
    do {
      SkipBehind("\n", at_);
    } while (at_ < text_.size() && at_ >= 2 && text_[at_ - 2] == '\\');
  }

  void SkipLiteral(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    SkipTo(end + 1);
  }

  const std::string& text_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

bool Has(Tokens tokens, const std::string& text) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const Token& token) { return token.text == text; });
}

// Behind the bracket that closes the one at `open`; '<' ends at '>'.
size_t BehindClosing(Tokens tokens, size_t open) {
  const bool angle = tokens[open].text == "<";
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{' || (angle && c == '<')) ++depth;
    if (c == ')' || c == ']' || c == '}' || (angle && c == '>')) --depth;
    if (depth == 0) return i + 1;
  }
  return tokens.size();
}

// Where the first of `texts` stands outside brackets.
size_t FindOutside(Tokens tokens, const std::set<std::string>& texts, size_t from = 0) {
  for (size_t i = from; i < tokens.size();) {
    if (texts.count(tokens[i].text)) return i;
    const char c = tokens[i].text[0];
    i = c == '(' || c == '[' || c == '{' ? BehindClosing(tokens, i) : i + 1;
  }
  return tokens.size();
}

// A declaration without `template <...>` and [[attributes]] before it.
Tokens WithoutPrefixes(Tokens head) {
  while (!head.empty()) {
    if (head[0].text == "template" && head.size() > 1 && head[1].text == "<") {
      head = head.subspan(BehindClosing(head, 1));
    } else if (head[0].text == "[") {
      head = head.subspan(BehindClosing(head, 0));
    } else {
      break;
    }
  }
  return head;
}

bool IsType(Tokens head) {
  static const auto& kKeys = *new std::set<std::string>{"class", "struct", "union", "enum"};
  return !head.empty() && kKeys.count(head[0].text) > 0;
}

// The word of "struct alignas(64) NAME final : Base"; none for specializations and without a name.
const Token* TypeName(Tokens head) {
  size_t i = 1;
  if (head[0].text == "enum" && i < head.size() && IsType(head.subspan(i))) ++i;
  while (i + 1 < head.size() && (head[i].text == "alignas" || head[i].text == "[")) {
    i = BehindClosing(head, head[i].text == "[" ? i : i + 1);
  }
  if (i >= head.size() || !IsWord(head[i])) return nullptr;
  const bool plain = i + 1 == head.size() || head[i + 1].text == ":" || head[i + 1].text == "final";
  return plain ? &head[i] : nullptr;
}

// The types of the parameters: names and defaults left out.
std::string ParameterTypes(Tokens parameters) {
  std::vector<std::string> types;
  for (size_t begin = 0, end; begin < parameters.size(); begin = end + 1) {
    end = begin;
    int angles = 0;
    for (; end < parameters.size() && !(angles == 0 && parameters[end].text == ",");) {
      const char c = parameters[end].text[0];
      angles += c == '<' ? 1 : c == '>' ? -1 : 0;
      end = c == '(' || c == '[' || c == '{' ? BehindClosing(parameters, end) : end + 1;
    }
    Tokens one = parameters.subspan(begin, end - begin);
    one = one.first(FindOutside(one, {"="}));
    const bool named = one.size() > 1 && IsWord(one.back()) && one[one.size() - 2].text != "::" &&
                       one[one.size() - 2].text != "const";
    if (named) one = one.first(one.size() - 1);
    types.push_back(absl::StrJoin(
        one, " ", [](std::string* out, const Token& token) { out->append(token.text); }));
  }
  return absl::StrJoin(types, ", ");
}

class Scanner {
 public:
  Scanner(const std::string& file, Tokens tokens) : file_(file), tokens_(tokens) {}

  std::vector<Definition> Run() {
    while (at_ < tokens_.size()) Declaration();
    return std::move(definitions_);
  }

 private:
  // One declaration, or one end of a namespace's body.
  void Declaration() {
    if (tokens_[at_].text == "}") {
      if (!scopes_.empty()) scopes_.pop_back();
      ++at_;
      return;
    }
    const size_t begin = tokens_.size() - WithoutPrefixes(tokens_.subspan(at_)).size();
    const size_t end = FindOutside(tokens_, {";", "{", "=", "}"}, begin);
    const Tokens head = tokens_.subspan(begin, end - begin);
    const bool body = end < tokens_.size() && tokens_[end].text == "{";
    if (body && Has(head, "namespace")) return OpenNamespace(head, end);
    // extern "C": names of the C library, which some define to stand before its own. Two of one
    // program do not link.
    if (body && head.size() == 2 && head[0].text == "extern") return Open(kUnnamed, end);
    const bool parameters = FindOutside(head, {"("}) < head.size();
    if (IsType(head) && !(parameters && !Has(head, "alignas"))) {
      if (body) AddType(head);
      return SkipStatement(end);
    }
    if (body && parameters) return Function(head, end);
    AddInlineVariable(head);
    SkipStatement(end);
  }

  void OpenNamespace(Tokens head, size_t brace) {
    std::string name;
    for (const Token& token : head) {
      if (token.text != "namespace" && token.text != "inline") name += token.text;
    }
    Open(name.empty() ? kUnnamed : name, brace);
  }

  void Open(const std::string& scope, size_t brace) {
    scopes_.push_back(scope);
    at_ = brace + 1;
  }

  // Behind the ';', or before the '}' where it is missing.
  void SkipStatement(size_t from) {
    at_ = FindOutside(tokens_, {";", "}"}, from);
    if (at_ < tokens_.size() && tokens_[at_].text == ";") ++at_;
  }

  void AddType(Tokens head) {
    if (const Token* const name = TypeName(head)) Add(name->text, name->line);
  }

  // A constructor's initializers may have braces of their own: x_{1}.
  void Function(Tokens head, size_t brace) {
    const size_t open = FindOutside(head, {"("});
    const bool initializers = FindOutside(head, {":"}, BehindClosing(head, open)) < head.size();
    while (initializers && IsWord(tokens_[brace - 1])) {
      brace = FindOutside(tokens_, {"{"}, BehindClosing(tokens_, brace));
    }
    at_ = BehindClosing(tokens_, brace);
    // Without a type before the name it is a macro's call; a name behind "::" is a member's.
    if (open < 2 || !IsWord(head[open - 1]) || head[open - 2].text == "::") return;
    if (Has(head.first(open), "static")) return;
    const Tokens parameters = head.subspan(open + 1, BehindClosing(head, open) - open - 2);
    Add(absl::StrCat(head[open - 1].text, "(", ParameterTypes(parameters), ")"),
        head[open - 1].line);
  }

  void AddInlineVariable(Tokens head) {
    size_t end = head.size();
    if (end > 0 && head[end - 1].text == "]") end = FindOutside(head, {"["});
    const bool declares = end > 2 && Has(head, "inline") && !Has(head, "namespace") &&
                          FindOutside(head, {"("}) == head.size();
    if (declares && IsWord(head[end - 1])) Add(head[end - 1].text, head[end - 1].line);
  }

  void Add(const std::string& name, int line) {
    if (scopes_.empty() || std::count(scopes_.begin(), scopes_.end(), kUnnamed) > 0) return;
    std::string full;
    for (const std::string& scope : scopes_) {
      if (!scope.empty()) absl::StrAppend(&full, scope, "::");
    }
    definitions_.push_back({absl::StrCat(full, name), file_, line});
  }

  const std::string kUnnamed = "<unnamed>";
  const std::string file_;
  const Tokens tokens_;
  size_t at_ = 0;
  std::vector<std::string> scopes_;
  std::vector<Definition> definitions_;
};

std::string PlaceOf(const Definition& definition) {
  return absl::StrCat(definition.file, ":", definition.line);
}

}  // namespace

std::vector<Definition> Definitions(const std::string& file, const std::string& text) {
  const std::vector<Token> tokens = Lexer(text).Run();
  return Scanner(file, tokens).Run();
}

std::vector<std::string> Duplicates(const std::vector<Definition>& sources,
                                    const std::vector<Definition>& others) {
  std::map<std::string, const Definition*> first;
  for (const Definition& source : sources) first.emplace(source.name, &source);
  std::vector<std::string> duplicates;
  for (const Definition& other : others) {
    const auto found = first.find(other.name);
    if (found == first.end() || found->second->file == other.file) continue;
    duplicates.push_back(
        absl::StrCat(other.name, ": ", PlaceOf(*found->second), " and ", PlaceOf(other)));
  }
  return duplicates;
}

}  // namespace tpurun
