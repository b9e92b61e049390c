#include "cli/config/text_format.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "proto/text_errors.h"
#include "runtime/base/text.h"
#include "runtime/spec/dtypes.h"

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

// Arguments of TensorFlow's classes that no field stands for, and what to do instead: those of
// RunConfig and TPUConfig, of TPUEstimator and its methods, and of TPUEstimatorSpec.
struct PythonArgument {
  const char* name;
  const char* what;
  const char* instead;
};
constexpr char kObject[] = "is a Python object in TensorFlow and does not exist here";
constexpr char kArgument[] = "is an argument of TensorFlow's and does not exist here";
constexpr PythonArgument kPythonArguments[] = {
    {"session_config", kObject, "use allow_soft_placement and log_device_placement"},
    {"cluster", kObject, "leave it out, the TPU is emulated in this process"},
    {"device_fn", kObject, "leave it out, placement is the compiler's"},
    {"train_distribute", kObject, "leave it out, use_tpu: true trains on all cores"},
    {"eval_distribute", kObject, "leave it out, use_tpu: true evaluates on all cores"},
    {"experimental_distribute", kObject, "leave it out, use_tpu: true runs on all cores"},
    {"experimental_feed_hook", kObject,
     "leave it out, describe the input with source and transform"},
    {"config", kObject, "write its fields here, those of TPUConfig in tpu_config { }"},
    {"model_fn", kObject, "write the model as a ModelSpec and name its file in model_file"},
    {"params", kObject,
     "leave it out, write the values in the model; params[\"batch_size\"] is what "
     "train_batch_size, eval_batch_size and predict_batch_size say"},
    {"batch_axis", kArgument, "leave it out, a batch is split along axis 0"},
    {"embedding_config_spec", kObject, "leave it out, write embedding layers in the model"},
    {"export_saved_model_api_version", kArgument,
     "leave it out, the graph of an exported model is the same for serve and for tpu"},
    {"input_fn", kObject, "describe the input with source and transform"},
    {"train_input_fn", kObject, "describe the input in train { input { } }"},
    {"eval_input_fn", kObject, "describe the input in evaluate { input { } }"},
    {"predict_input_fn", kObject, "describe the input in predict { input { } }"},
    {"serving_input_receiver_fn", kObject,
     "leave it out, export takes the features of the model and the transforms of predict's input"},
    {"hooks", kObject, "write shell commands as training_hook { } or evaluation_hook { }"},
    {"training_chief_hooks", kObject, "write shell commands as training_hook { }"},
    {"training_hooks", kObject, "write shell commands as training_hook { }"},
    {"evaluation_hooks", kObject, "write shell commands as evaluation_hook { }"},
    {"prediction_hooks", kObject, "leave it out, predict prints a line for each example"},
    {"saving_listeners", kObject, "write a shell command as training_hook { at: CHECKPOINT }"},
    {"checkpoint_path", kArgument, "name a checkpoint by --checkpoint=PREFIX"},
    {"predict_keys", kArgument, "write predict { keys: \"NAME\" }"},
    {"yield_single_examples", kArgument, "leave it out, predict prints a line for each example"},
    {"export_dir_base", kArgument, "write export { directory: \"DIR\" }"},
    {"assets_extra", kArgument, "leave it out, what the input needs of files goes along"},
    {"as_text", kArgument, "leave it out, `tpurun inspect` shows an exported model as text"},
    {"strip_default_attrs", kArgument, "leave it out, there is one way to write a graph"},
    {"experimental_mode", kArgument, "leave it out, what predicts is exported"},
    {"host_call", kObject, "write summary entries in the model"},
    {"eval_metrics", kObject, "write eval_metric entries in the model"},
    {"eval_metric_ops", kObject, "write eval_metric entries in the model"},
    {"scaffold_fn", kObject,
     "leave it out; moving_average of the model evaluates averaged values, warm_start_from takes "
     "initial ones"},
    {"export_outputs", kObject, "leave it out, heads say what signatures there are"},
    {"train_op", kObject, "write optimizer entries in the model"},
};

// As protobuf's tokenizer counts: from 0, columns with tabs.
struct Position {
  int line = 0;
  int column = 0;

  auto operator<=>(const Position&) const = default;
};

Position PositionOf(const Tokenizer::Token& token) { return {token.line, token.column}; }

struct Report {
  Position position;
  std::string message;
};

class ParserReports : public ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    reports_.push_back({{line, column}, message});
  }
  // Fields and extensions that do not exist are warnings, so that all are found in one parse.
  void AddWarning(int line, int column, const std::string& message) override {
    if (!absl::StrContains(message, "deprecated field")) AddError(line, column, message);
  }
  const std::vector<Report>& all() const { return reports_; }

 private:
  std::vector<Report> reports_;
};

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
std::optional<Position> FindTooDeep(std::string_view text) {
  std::optional<Position> position;
  int depth = 0;
  ForEachToken(text, [&](const Tokenizer::Token& token) {
    if (token.text == "{" || token.text == "<" || token.text == "[") ++depth;
    if (token.text == "}" || token.text == ">" || token.text == "]") --depth;
    if (depth <= kMaxNesting) return true;
    position = {token.line, token.column};
    return false;
  });
  return position;
}

std::vector<std::string> FieldNames(const Descriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.field_count(); ++i) names.push_back(descriptor.field(i)->name());
  return names;
}

// The fields of the message that are messages with a field of that name, as TPUConfig's written one
// level too high: "tpu_config { }", "train { } or evaluate { }"; empty for none.
std::string OwnersOf(const Descriptor& descriptor, std::string_view name) {
  std::vector<std::string> owners;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const Descriptor* const nested = descriptor.field(i)->message_type();
    if (nested == nullptr || nested->FindFieldByName(std::string(name)) == nullptr) continue;
    owners.push_back(absl::StrCat(descriptor.field(i)->name(), " { }"));
  }
  return absl::StrJoin(owners, " or ");
}

// What surrounds a token: the message it stands in and, for a value, its field.
struct Place {
  const Descriptor* descriptor;  // nullptr inside an unknown field
  const FieldDescriptor* field;  // the last field named in that message; nullptr if none or unknown
  std::string path;              // of the message
  std::optional<size_t> name;    // the token that names the field, known or not
};

bool StartsValue(const std::string& text) {
  return text == ":" || text == "{" || text == "<" || text == "[";
}

// Walks the tokens before `end`, following braces and field names.
Place FindPlace(const std::vector<Tokenizer::Token>& tokens, size_t end, const Descriptor& root,
                std::string_view root_path) {
  std::vector<Place> stack = {{&root, nullptr, std::string(root_path), std::nullopt}};
  std::map<std::string, int> seen;  // elements of each repeated field so far, by path
  std::string field_path(root_path);
  for (size_t i = 0; i < end; ++i) {
    const std::string& token = tokens[i].text;
    Place& place = stack.back();
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

// Of a text, and the bytes that are read for them: each mistake takes a parse and a walk.
constexpr int kMaxErrors = 20;
constexpr size_t kMaxReadBytes = 8 << 20;

// TensorFlow's element types that a TPU does not have, nor anything here, and what to take instead.
struct AbsentType {
  const char* name;
  const char* instead;
};
constexpr AbsentType kAbsentTypes[] = {
    {"FLOAT64", "FLOAT32"}, {"DOUBLE", "FLOAT32"}, {"FLOAT16", "BFLOAT16"}, {"HALF", "BFLOAT16"},
    {"INT8", "INT32"},      {"INT16", "INT32"},    {"UINT16", "INT32"},     {"UINT64", "INT64"},
    {"QINT8", "INT32"},     {"QUINT8", "INT32"},   {"QINT32", "INT32"},
};

// What a model wants of a TPU; null where `got` is none of these types, or not the model's.
const AbsentType* FindAbsentType(const FieldDescriptor& field, const std::string& path,
                                 const std::string& got) {
  const bool is_type =
      field.enum_type() != nullptr && field.enum_type()->full_name() == "tpurun.proto.DataType";
  if (!is_type || !absl::StartsWith(path, "model")) return nullptr;
  const std::string name = absl::AsciiStrToUpper(got);
  const auto* const found = std::find_if(std::begin(kAbsentTypes), std::end(kAbsentTypes),
                                         [&](const AbsentType& type) { return name == type.name; });
  return found == std::end(kAbsentTypes) ? nullptr : found;
}

// Of a feature or label, and of what is computed in.
std::string AbsentTypeMessage(const AbsentType& type, const FieldDescriptor& field,
                              const std::string& path) {
  const bool fed = absl::StartsWith(path, "model.feature") || absl::StartsWith(path, "model.label");
  const std::string title = FieldPath(path, field.name());
  if (!fed) {
    return absl::StrCat(title, ": unsupported data type for the TPU: ", type.name, ", want ",
                        type.instead);
  }
  return absl::StrCat(title, ": ", type.name, " is not a supported TPU infeed type, want ",
                      kFedDTypes, "; declare ", type.instead,
                      " and have the input read it so, or cast it");
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

// What a report of protobuf's parser or tokenizer says.
enum class Complaint {
  kUnknownField,
  kUnknownExtension,
  kGivenTwice,
  kGivenTogether,
  kWrongValue,
  kUnexpected,  // something else is wanted where the report points to
  kToken,       // about a place inside a token
  kOther,
};

struct SortedReport {
  Complaint complaint = Complaint::kOther;
  std::string word;  // of the text, which the report quotes
};

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

SortedReport Sort(const std::string& report) {
  static constexpr struct {
    const char* begin;
    const char* before_word;
    const char* after_word;
    Complaint complaint;
  } kReports[] = {
      {"Message type ", "has no field named \"", "\"", Complaint::kUnknownField},
      {"Ignoring extension ", "\"", "\"", Complaint::kUnknownExtension},
      {"Non-repeated field ", "\"", "\"", Complaint::kGivenTwice},
      {"Field ", "\"", "\"", Complaint::kGivenTogether},
      {"Unknown enumeration value", "\"", "\"", Complaint::kWrongValue},
      {"Invalid value for boolean", "Value: \"", "\"", Complaint::kWrongValue},
      {"Integer out of range", "(", ")", Complaint::kWrongValue},
  };
  for (const auto& row : kReports) {
    if (!absl::StartsWith(report, row.begin)) continue;
    if (auto word = Between(report, row.before_word, row.after_word)) {
      return {row.complaint, *std::move(word)};
    }
  }
  if (absl::StartsWith(report, "Expect")) return {Complaint::kUnexpected};
  // The tokenizer's reports are sentences; the parser's are not.
  const bool sentence = absl::EndsWith(report, ".") && !absl::StrContains(report, "\"");
  return {sentence ? Complaint::kToken : Complaint::kOther};
}

std::string TranslateTokenizer(const std::string& report) {
  if (absl::StrContains(report, "String literals cannot cross line") ||
      absl::StrContains(report, "Unexpected end of string")) {
    return "the string ends with the line, want a closing quote";
  }
  if (absl::StartsWith(report, "Interpreting non ascii")) {
    return "a letter that is not of ASCII stands outside of quotes, want double quotes around a "
           "text";
  }
  return report;
}

// A report in our words.
struct Mistake {
  std::string message;
  bool refused = false;  // as of ConfigError
  // The token that names the field to leave out; nullopt when what stands where is not known.
  std::optional<size_t> field = std::nullopt;
  // The field that the text meant to give, as far as that is known.
  std::string unread_path = {};
  // Its message may look incomplete without it: no kind is given, a length is missing.
  bool incomplete = false;
};

// Whether a value, or an element of a list, of the field that `name` names begins with the token.
bool IsValue(const std::vector<Tokenizer::Token>& tokens, size_t name, size_t token) {
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

Mistake WrongValue(const Place& place, const std::string& got) {
  const AbsentType* const absent = FindAbsentType(*place.field, place.path, got);
  return {.message = absent != nullptr ? AbsentTypeMessage(*absent, *place.field, place.path)
                                       : WrongValueMessage(*place.field, place.path, got),
          .refused = absent != nullptr,
          .field = place.name,
          .unread_path = FieldPath(place.path, place.field->name()),
          .incomplete = place.field->containing_oneof() != nullptr};
}

Mistake UnknownField(const Place& place, const std::string& name, size_t token) {
  if (place.descriptor == nullptr) {
    return {.message = absl::StrCat("unknown field ", Quote(name)), .field = token};
  }
  const std::string nearest = NearestName(name, FieldNames(*place.descriptor));
  return {.message = UnknownFieldMessage(*place.descriptor, place.path, name),
          .field = token,
          .unread_path = nearest.empty() ? "" : FieldPath(place.path, nearest),
          .incomplete = true};
}

// Turns protobuf's report into ours; `token` is the one it is about.
Mistake Translate(const std::string& report, const Place& place,
                  const std::vector<Tokenizer::Token>& tokens, size_t token) {
  const auto& [complaint, word] = Sort(report);
  const std::string got =
      token < tokens.size() && !tokens[token].text.empty() ? tokens[token].text : kEnd;
  switch (complaint) {
    case Complaint::kUnknownField:
      return UnknownField(place, word, token);
    case Complaint::kUnknownExtension:
      return UnknownField(place, absl::StrCat("[", word, "]"), token);
    case Complaint::kGivenTwice:
      return {.message = absl::StrCat(FieldPath(place.path, word), " is given twice, want it once"),
              .field = token};
    case Complaint::kGivenTogether: {
      const std::string other = Between(report, "along with field \"", "\"").value_or("?");
      return {.message = absl::StrCat(FieldPath(place.path, word), " is given together with ",
                                      other, ", want one of them"),
              .field = token};
    }
    case Complaint::kWrongValue:
      if (place.field != nullptr) return WrongValue(place, word);
      break;
    case Complaint::kUnexpected:
      if (place.field != nullptr && IsValue(tokens, *place.name, token)) {
        return WrongValue(place, got);
      }
      if (const auto wanted = Between(report, "Expected \"", "\"")) {
        return {absl::StrCat("got ", got, ", want ", *wanted)};
      }
      if (absl::StartsWith(report, "Expected identifier") && got == kEnd && !place.path.empty()) {
        return {absl::StrCat("got ", got, ", want } to close ", place.path)};
      }
      if (absl::StartsWith(report, "Expected identifier")) {
        return {absl::StrCat("got ", got, ", want a field of ",
                             place.descriptor ? place.descriptor->name() : "the message")};
      }
      break;
    case Complaint::kToken:
      return {TranslateTokenizer(report)};
    case Complaint::kOther:
      break;
  }
  return {report};
}

// The token that the report is about: parsers report after reading the name or value they refuse.
size_t FindToken(const std::vector<Tokenizer::Token>& tokens, const Report& report) {
  const auto at = std::lower_bound(tokens.begin(), tokens.end(), report.position,
                                   [](const Tokenizer::Token& token, const Position& position) {
                                     return PositionOf(token) < position;
                                   });
  const size_t token = at - tokens.begin();
  const auto& [complaint, word] = Sort(report.message);
  if (word.empty() || token == 0) return token;
  size_t named = token;
  if (complaint == Complaint::kUnknownExtension) {
    while (named > 0 && (named == tokens.size() || tokens[named].text != "[")) --named;
    return named;
  }
  const size_t first = token < 3 ? 0 : token - 3;
  while (named > first && (named == tokens.size() || tokens[named].text != word)) --named;
  // A number is quoted as it is read, whatever way it is written.
  return tokens[named].text == word ? named : token - 1;
}

// The first token after the field that `name` names and after its value; nullopt when what is
// opened there is not closed.
std::optional<size_t> EndOfField(const std::vector<Tokenizer::Token>& tokens, size_t name) {
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
  bool Tell(const std::vector<Report>& reports) {
    const std::vector<Tokenizer::Token> tokens = Tokenize(text_);
    size_t left_out = 0;  // the token after the last field that was left out
    read_bytes_ += text_.size();
    for (const Report& report : reports) {
      const size_t token = FindToken(tokens, report);
      if (token < left_out) continue;  // about what is in it, or its separator
      const Place place = FindPlace(tokens, token, descriptor_, path_);
      read_bytes_ += text_.size();
      const Mistake mistake = Translate(report.message, place, tokens, token);
      const bool in_token = Sort(report.message).complaint == Complaint::kToken;
      const Position at =
          !in_token && token < tokens.size() ? PositionOf(tokens[token]) : report.position;
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
  void Add(const Position& at, const Mistake& mistake) {
    const SourceLocation location = {
        .file = file_, .line = at.line + 1, .column = positions_.ByteColumn(at.line, at.column)};
    errors_.Add({.message = mistake.message, .location = location, .refused = mistake.refused});
  }

  // Writes blanks over the tokens before `end`, so that all others keep their places.
  void LeaveOut(const std::vector<Tokenizer::Token>& tokens, size_t begin, size_t end) {
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
  if (const std::optional<Position> deep = FindTooDeep(text)) {
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

std::string TooDeepMessage() {
  return absl::StrCat("nested deeper than ", kMaxNesting, " messages");
}

std::string UnknownFieldMessage(const Descriptor& descriptor, std::string_view path,
                                std::string_view name) {
  const bool of_model = absl::StartsWith(ToAbsl(path), "model");
  for (const PythonArgument& argument : kPythonArguments) {
    if (name != argument.name || of_model) continue;
    return absl::StrCat(Quote(argument.name), " ", argument.what, "; ", argument.instead);
  }
  const std::vector<std::string> known = FieldNames(descriptor);
  const std::string message = absl::StrCat("unknown field ", Quote(name), " in ",
                                           path.empty() ? ToAbsl(descriptor.name()) : ToAbsl(path));
  const std::string owners = path.empty() ? OwnersOf(descriptor, name) : "";
  if (!owners.empty()) return absl::StrCat(message, ", it belongs into ", owners);
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
