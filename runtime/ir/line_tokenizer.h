// LineTokenizer: a small tokenizer for the one-line forms of graph and program text.
#ifndef TPURUN_RUNTIME_IR_LINE_TOKENIZER_H_
#define TPURUN_RUNTIME_IR_LINE_TOKENIZER_H_

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/text.h"
#include "runtime/ir/attrs.h"

namespace tpurun {

class LineTokenizer {
 public:
  explicit LineTokenizer(std::string_view line) : rest_(line) { SkipBlanks(); }

  bool AtEnd() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  // If the rest starts with `text`, consumes it and the blanks after it and returns true.
  bool Eat(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    SkipBlanks();
    return true;
  }
  // The text up to the next blank, comma or end.
  std::string Word() {
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != ' ' && rest_[end] != ',') ++end;
    return Take(end);
  }
  // A quoted string "..." with C escapes.
  std::optional<std::string> QuotedString() {
    if (rest_.empty() || rest_[0] != '"') return std::nullopt;
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return std::nullopt;
    return Unquote(Take(end + 1));
  }
  std::optional<int64_t> Int() {
    size_t end = 0;
    while (end < rest_.size() && (rest_[end] == '-' || (rest_[end] >= '0' && rest_[end] <= '9')))
      ++end;
    return ParseInt64(Take(end));
  }
  // {...} up to the closing brace. Braces inside quotes do not count.
  std::optional<Attrs> Attributes() {
    if (rest_.empty() || rest_[0] != '{') return std::nullopt;
    bool quoted = false;
    for (size_t i = 0; i < rest_.size(); ++i) {
      if (quoted && rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        quoted = !quoted;
      } else if (!quoted && rest_[i] == '}') {
        absl::StatusOr<Attrs> attrs = ParseAttrs(Take(i + 1));
        if (!attrs.ok()) return std::nullopt;
        return *std::move(attrs);
      }
    }
    return std::nullopt;
  }
  // f32[16,784] or f32[16,784]{layout:bytes}.
  std::optional<Shape> AShape() {
    size_t end = rest_.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    ++end;
    if (end < rest_.size() && rest_[end] == '{') end = rest_.find('}', end) + 1;
    return ParseShape(Take(end));
  }

 private:
  std::string Take(size_t count) {
    std::string taken(rest_.substr(0, count));
    rest_.remove_prefix(std::min(count, rest_.size()));
    SkipBlanks();
    return taken;
  }
  void SkipBlanks() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_LINE_TOKENIZER_H_
