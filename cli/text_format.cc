#include "cli/text_format.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::ErrorCollector;
using google::protobuf::io::Tokenizer;

// Fields of TensorFlow's classes whose value is a Python object, and what to do instead.
struct PythonField {
  const char* name;
  const char* instead;
};
constexpr PythonField kPythonFields[] = {
    {"session_config", "use allow_soft_placement and log_device_placement"},
    {"cluster", "leave it out, the TPU is emulated in this process"},
    {"device_fn", "leave it out, placement is the compiler's"},
    {"train_distribute", "leave it out, use_tpu: true trains on all 8 cores"},
    {"eval_distribute", "leave it out, use_tpu: true evaluates on all 8 cores"},
    {"experimental_distribute", "leave it out, use_tpu: true runs on all 8 cores"},
    {"experimental_feed_hook", "leave it out, describe the input with source and transform"},
    {"embedding_config_spec", "leave it out, write embedding layers in the model"},
    {"params", "leave it out, write the values in the model"},
    {"model_fn", "write the model as a ModelSpec and name its file in model_file"},
    {"input_fn", "describe the input with source and transform"},
};

struct Report {
  int line;
  int column;
  std::string message;
};

class ParserReports : public ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    reports_.push_back({line, column, message});
  }
  // Fields that do not exist are warnings, so that all of them are found in one parse.
  void AddWarning(int line, int column, const std::string& message) override {
    if (absl::StrContains(message, "has no field named")) AddError(line, column, message);
  }
  const std::vector<Report>& all() const { return reports_; }

 private:
  std::vector<Report> reports_;
};

class IgnoreErrors : public ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

// Calls visit(token) for the tokens in order until it returns false.
template <typename Visit>
void ForEachToken(std::string_view text, Visit visit) {
  ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  IgnoreErrors ignore;
  Tokenizer tokenizer(&stream, &ignore);
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_require_space_after_number(false);
  tokenizer.set_allow_multiline_strings(true);
  while (tokenizer.Next() && visit(tokenizer.current())) {
  }
}

std::vector<Tokenizer::Token> Tokenize(std::string_view text) {
  std::vector<Tokenizer::Token> tokens;
  ForEachToken(text, [&](const Tokenizer::Token& token) {
    tokens.push_back(token);
    return true;
  });
  return tokens;
}

// The brace or bracket that is nested too deep for what walks the message, protobuf's parser
// first: each level of the text is a call on the stack.
std::optional<TextError> FindTooDeep(std::string_view text) {
  std::optional<TextError> error;
  int depth = 0;
  ForEachToken(text, [&](const Tokenizer::Token& token) {
    if (token.text == "{" || token.text == "<" || token.text == "[") ++depth;
    if (token.text == "}" || token.text == ">" || token.text == "]") --depth;
    if (depth <= kMaxNesting) return true;
    error = {.line = token.line + 1,
             .column = TokenizerText(text).ByteColumn(token.line, token.column),
             .message = TooDeepMessage()};
    return false;
  });
  return error;
}

// What surrounds a token: the message it stands in and, for a value, its field.
struct Place {
  const Descriptor* descriptor;  // nullptr inside an unknown field
  const FieldDescriptor* field;  // the last field named in that message; nullptr if none or unknown
  std::string path;              // of the message
};

bool StartsValue(const std::string& text) {
  return text == ":" || text == "{" || text == "<" || text == "[";
}

// Walks the tokens before `end`, following braces and field names.
Place FindPlace(const std::vector<Tokenizer::Token>& tokens, size_t end, const Descriptor& root,
                std::string_view root_path) {
  std::vector<Place> stack = {{&root, nullptr, std::string(root_path)}};
  std::map<std::string, int> seen;  // elements of each repeated field so far, by path
  std::string field_path(root_path);
  for (size_t i = 0; i < end; ++i) {
    const std::string& token = tokens[i].text;
    Place& place = stack.back();
    if (token == "{" || token == "<") {
      const Descriptor* nested = place.field ? place.field->message_type() : nullptr;
      std::string path = field_path;
      if (place.field && place.field->is_repeated()) path = ElementPath(path, seen[field_path]++);
      stack.push_back({nested, nullptr, std::move(path)});
    } else if (token == "}" || token == ">") {
      if (stack.size() > 1) stack.pop_back();
      if (stack.back().field) field_path = FieldPath(stack.back().path, stack.back().field->name());
    } else if (tokens[i].type == Tokenizer::TYPE_IDENTIFIER && i + 1 < tokens.size() &&
               StartsValue(tokens[i + 1].text)) {
      place.field = place.descriptor ? place.descriptor->FindFieldByName(token) : nullptr;
      field_path = FieldPath(place.path, token);
    }
  }
  return stack.back();
}

// Finding the place of each takes a walk over the text.
constexpr size_t kMaxErrors = 20;

// The text between `before` and `after` in `message`.
std::optional<std::string> Between(std::string_view message, std::string_view before,
                                   std::string_view after) {
  const size_t begin = message.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  message.remove_prefix(begin + before.size());
  if (after.empty()) return std::string(message);
  const size_t end = message.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(message.substr(0, end));
}

std::string WrongValueMessage(const FieldDescriptor& field, const std::string& path,
                              const std::string& got) {
  std::string message = absl::StrCat(FieldPath(path, field.name()), ": got ",
                                     got.empty() ? "nothing" : got, ", want ", WantedValue(field));
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    const std::string nearest =
        NearestName(absl::AsciiStrToUpper(got), EnumNames(*field.enum_type()));
    if (!nearest.empty()) absl::StrAppend(&message, ", did you mean ", nearest, "?");
    if (field.name() == "per_host_input_for_training" && (got == "true" || got == "false")) {
      absl::StrAppend(&message, "; ", got, " is ", got == "true" ? "PER_HOST_V1" : "PER_SHARD_V1");
    }
  }
  return message;
}

// What stands in a message for the token after the last one.
constexpr char kEnd[] = "the end";

// The tokenizer's reports are sentences; the parser's are not.
bool IsTokenizerReport(const std::string& report) {
  return absl::EndsWith(report, ".") && !absl::StrContains(report, "\"");
}

std::string TranslateTokenizer(const std::string& report) {
  if (absl::StrContains(report, "String literals cannot cross line") ||
      absl::StrContains(report, "Unexpected end of string")) {
    return "the string ends with the line, want a closing quote";
  }
  return report;
}

// Turns protobuf's report into ours; `token` is the one it is about.
std::string Translate(const std::string& report, const Place& place,
                      const std::vector<Tokenizer::Token>& tokens, size_t token) {
  const std::string got =
      token < tokens.size() && !tokens[token].text.empty() ? tokens[token].text : kEnd;
  if (const auto name = Between(report, "has no field named \"", "\"")) {
    return place.descriptor ? UnknownFieldMessage(*place.descriptor, place.path, *name)
                            : absl::StrCat("unknown field ", Quote(*name));
  }
  if (const auto name = Between(report, "Non-repeated field \"", "\"")) {
    return absl::StrCat(FieldPath(place.path, *name), " is given twice, want it once");
  }
  if (const auto name = Between(report, "Field \"", "\" is specified along with")) {
    const std::string other = Between(report, "along with field \"", "\"").value_or("?");
    return absl::StrCat(FieldPath(place.path, *name), " is given together with ", other,
                        ", want one of them");
  }
  if (place.field != nullptr) {
    const FieldDescriptor& field = *place.field;
    if (const auto value = Between(report, "Unknown enumeration value of \"", "\"")) {
      return WrongValueMessage(field, place.path, *value);
    }
    if (const auto value = Between(report, "Value: \"", "\"")) {
      return WrongValueMessage(field, place.path, *value);
    }
    if (const auto value = Between(report, "Integer out of range (", ")")) {
      return WrongValueMessage(field, place.path, *value);
    }
    if (absl::StartsWith(report, "Expected string, got: ") ||
        absl::StartsWith(report, "Expected integer") ||
        absl::StartsWith(report, "Expected double, got: ") ||
        absl::StartsWith(report, "Expected identifier, got: ") ||
        absl::StartsWith(report, "Expected \":\", found ") ||
        absl::StartsWith(report, "Expected \"{\", found ")) {
      const bool is_value = token > 0 && !StartsValue(got) &&
                            (StartsValue(tokens[token - 1].text) || tokens[token - 1].text == "," ||
                             tokens[token - 1].text == "-");
      if (is_value) return WrongValueMessage(field, place.path, got);
    }
  }
  if (const auto wanted = Between(report, "Expected \"", "\"")) {
    return absl::StrCat("got ", got, ", want ", *wanted);
  }
  if (absl::StartsWith(report, "Expected identifier") && got == kEnd && !place.path.empty()) {
    return absl::StrCat("got ", got, ", want } to close ", place.path);
  }
  if (absl::StartsWith(report, "Expected identifier")) {
    return absl::StrCat("got ", got, ", want a field of ",
                        place.descriptor ? place.descriptor->name() : "the message");
  }
  return report;
}

// The token that the report is about: parsers report after reading the name or value they refuse.
size_t FindToken(const std::vector<Tokenizer::Token>& tokens, const Report& report) {
  size_t token = 0;
  while (token < tokens.size() && std::make_pair(tokens[token].line, tokens[token].column) <
                                      std::make_pair(report.line, report.column)) {
    ++token;
  }
  for (const char* before : {"has no field named \"", "Non-repeated field \"", "Field \"",
                             "Unknown enumeration value of \"", "Value: \""}) {
    const std::optional<std::string> text = Between(report.message, before, "\"");
    if (!text) continue;
    size_t named = token;
    while (named > 0 && (named >= tokens.size() || tokens[named].text != *text)) --named;
    if (named < tokens.size() && tokens[named].text == *text) return named;
  }
  return token;
}

}  // namespace

std::vector<TextError> ParseText(std::string_view text, std::string_view path, Message* message,
                                 TextFormat::ParseInfoTree* tree) {
  if (std::optional<TextError> too_deep = FindTooDeep(text)) return {*std::move(too_deep)};
  ParserReports reports;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&reports);
  parser.WriteLocationsTo(tree);
  parser.AllowUnknownField(true);
  parser.AllowPartialMessage(true);
  ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  const Descriptor& descriptor = *message->GetDescriptor();
  const bool parsed = parser.Parse(&stream, message);
  std::vector<TextError> errors;
  if (parsed && reports.all().empty()) return errors;

  const std::vector<Tokenizer::Token> tokens = Tokenize(text);
  const TokenizerText positions(text);
  for (const Report& report : reports.all()) {
    const size_t token = FindToken(tokens, report);
    const Place place = FindPlace(tokens, token, descriptor, path);
    // The tokenizer's own reports are about a place inside a token.
    const bool in_token = IsTokenizerReport(report.message);
    const bool known = !in_token && token < tokens.size();
    const int line = known ? tokens[token].line : report.line;
    const int column = known ? tokens[token].column : report.column;
    if (errors.size() == kMaxErrors) {
      errors.push_back({.line = line + 1,
                        .column = positions.ByteColumn(line, column),
                        .message = absl::StrCat("and ", reports.all().size() - kMaxErrors,
                                                " more from here on")});
      break;
    }
    errors.push_back({.line = line + 1,
                      .column = positions.ByteColumn(line, column),
                      .message = in_token ? TranslateTokenizer(report.message)
                                          : Translate(report.message, place, tokens, token)});
    if (in_token) break;  // what follows is the same mistake seen again
  }
  return errors;
}

std::string TooDeepMessage() {
  return absl::StrCat("nested deeper than ", kMaxNesting, " messages");
}

std::string UnknownFieldMessage(const Descriptor& descriptor, std::string_view path,
                                std::string_view name) {
  for (const PythonField& field : kPythonFields) {
    if (name == field.name && !absl::StartsWith(ToAbsl(path), "model")) {
      return absl::StrCat("\"", field.name,
                          "\" is a Python object in TensorFlow and does not exist "
                          "here; ",
                          field.instead);
    }
  }
  std::vector<std::string> known;
  for (int i = 0; i < descriptor.field_count(); ++i) known.push_back(descriptor.field(i)->name());
  const std::string message = absl::StrCat("unknown field ", Quote(name), " in ",
                                           path.empty() ? ToAbsl(descriptor.name()) : ToAbsl(path));
  if (known.empty()) return absl::StrCat(message, ", want no fields: write {}");
  return absl::StrCat(message, DidYouMean(name, known));
}

std::string WantedValue(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return "an integer (int32)";
    case FieldDescriptor::CPPTYPE_INT64:
      return "an integer (int64)";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return "an integer >= 0";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("one of ", absl::StrJoin(EnumNames(*field.enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string in quotes";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "a message in braces: { ... }";
  }
  return "a value";
}

std::vector<std::string> EnumNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    // DT_INVALID only stands for "not given".
    if (type.value(i)->name() != "DT_INVALID") names.push_back(type.value(i)->name());
  }
  return names;
}

std::string DefaultText(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return Quote(field.default_value_string());
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return ShortestText(field.default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return ShortestText(field.default_value_double());
    default:
      return "the default";
  }
}

}  // namespace tpurun
