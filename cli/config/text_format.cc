#include "cli/config/text_format.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/text_mistakes.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "proto/source_locations.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::ErrorCollector;

class ParserReports : public ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    reports_.push_back({{line, column}, message});
  }
  // Fields and extensions that do not exist are warnings, so that all are found in one parse.
  void AddWarning(int line, int column, const std::string& message) override {
    if (!absl::StrContains(message, "deprecated field")) AddError(line, column, message);
  }
  const std::vector<TextReport>& all() const { return reports_; }

 private:
  std::vector<TextReport> reports_;
};

// Of a text, and the bytes that are read for them: each mistake takes a parse and a walk.
constexpr int kMaxErrors = 20;
constexpr size_t kMaxReadBytes = 8 << 20;

// One text and its mistakes.
class TextReader {
 public:
  TextReader(std::string_view text, std::string_view path, const std::string& file,
             const Descriptor& descriptor, ConfigErrors& errors)
      : text_(text),
        positions_(text),
        path_(path),
        file_(file),
        descriptor_(descriptor),
        errors_(errors) {}

  // Adds what the reports of a parse of text() say, and leaves those fields out of it. Returns
  // whether what is left is worth another parse.
  bool Tell(const std::vector<TextReport>& reports) {
    const std::vector<TextToken> tokens = Tokenize(text_);
    size_t left_out = 0;  // the token after the last field that was left out
    read_bytes_ += text_.size();
    for (const TextReport& report : reports) {
      const size_t token = FindToken(tokens, report);
      if (token < left_out) continue;  // about what is in it, or its separator
      const TextPlace place = FindPlace(tokens, token, descriptor_, path_);
      read_bytes_ += text_.size();
      const TextMistake mistake = TranslateReport(report.message, place, tokens, token);
      const TextPosition at =
          !mistake.in_token && token < tokens.size() ? PositionOf(tokens[token]) : report.position;
      if (told_ == kMaxErrors || (told_ > 0 && read_bytes_ > kMaxReadBytes)) {
        Add(at, {.message = "there are more mistakes from here on"});
        return false;
      }
      ++told_;
      Add(at, mistake);
      if (!mistake.field.has_value()) return false;
      const std::optional<size_t> end = EndOfField(tokens, *mistake.field);
      if (!end.has_value()) return false;
      LeaveOut(tokens, *mistake.field, *end);
      left_out = *end;
      if (!mistake.unread_path.empty()) unread_.push_back(mistake.unread_path);
      if (mistake.incomplete && !place.path.empty()) incomplete_.push_back(place.path);
    }
    return left_out > 0;
  }

  const std::string& text() const { return text_; }
  const std::vector<std::string>& unread() const { return unread_; }
  const std::vector<std::string>& incomplete() const { return incomplete_; }

 private:
  void Add(const TextPosition& at, const TextMistake& mistake) {
    const SourceLocation location = {
        .file = file_, .line = at.line + 1, .column = positions_.ByteColumn(at.line, at.column)};
    errors_.Add({.message = mistake.message, .location = location, .refused = mistake.refused});
  }

  // Writes blanks over the tokens before `end`, so that all others keep their places.
  void LeaveOut(const std::vector<TextToken>& tokens, size_t begin, size_t end) {
    const auto byte_of = [&](size_t token) {
      return token < tokens.size() ? positions_.Byte(tokens[token].line, tokens[token].column)
                                   : text_.size();
    };
    for (size_t byte = byte_of(begin); byte < byte_of(end); ++byte) {
      if (text_[byte] != '\n' && text_[byte] != '\t') text_[byte] = ' ';
    }
  }

  std::string text_;  // without the fields that are left out
  const TokenizerText positions_;
  const std::string path_;
  const std::string file_;
  const Descriptor& descriptor_;
  ConfigErrors& errors_;
  int told_ = 0;
  size_t read_bytes_ = 0;  // of all parses and walks
  std::vector<std::string> unread_, incomplete_;
};

}  // namespace

ParsedText ParseText(std::string_view text, std::string_view path, const std::string& file,
                     Message* message, ConfigErrors& errors) {
  ParsedText parsed;
  if (const std::optional<TextPosition> deep = FindTooDeep(text)) {
    errors.AddAt({.file = file,
                  .line = deep->line + 1,
                  .column = TokenizerText(text).ByteColumn(deep->line, deep->column)},
                 TooDeepMessage());
    return {.broken = true};
  }
  std::optional<TextReader> reader;  // once there is a mistake
  while (true) {
    message->Clear();
    parsed.tree = std::make_unique<TextFormat::ParseInfoTree>();
    ParserReports reports;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&reports);
    parser.WriteLocationsTo(parsed.tree.get());
    parser.AllowUnknownField(true);
    parser.AllowPartialMessage(true);
    const std::string_view rest = reader.has_value() ? std::string_view(reader->text()) : text;
    ArrayInputStream stream(rest.data(), static_cast<int>(rest.size()));
    const bool complete = parser.Parse(&stream, message);
    if (complete && reports.all().empty()) return parsed;
    if (!reader.has_value()) reader.emplace(text, path, file, *message->GetDescriptor(), errors);
    const bool again = reader->Tell(reports.all());
    parsed.unread = reader->unread();
    parsed.incomplete = reader->incomplete();
    parsed.broken = !complete && !again;
    if (complete || parsed.broken) return parsed;
  }
}

}  // namespace tpurun
