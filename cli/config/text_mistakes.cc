#include "cli/config/text_mistakes.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/field_text.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"
#include "runtime/spec/dtypes.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;

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

TextMistake WrongValue(const TextPlace& place, const std::string& got) {
  const AbsentType* const absent = FindAbsentType(*place.field, place.path, got);
  return {.message = absent != nullptr ? AbsentTypeMessage(*absent, *place.field, place.path)
                                       : WrongValueMessage(*place.field, place.path, got),
          .refused = absent != nullptr,
          .field = place.name,
          .unread_path = FieldPath(place.path, place.field->name()),
          .incomplete = place.field->containing_oneof() != nullptr};
}

TextMistake UnknownField(const TextPlace& place, const std::string& name, size_t token) {
  if (place.descriptor == nullptr) {
    return {.message = absl::StrCat("unknown field ", Quote(name)), .field = token};
  }
  const std::string nearest = NearestName(name, FieldNames(*place.descriptor));
  return {.message = UnknownFieldMessage(*place.descriptor, place.path, name),
          .field = token,
          .unread_path = nearest.empty() ? "" : FieldPath(place.path, nearest),
          .incomplete = true};
}

}  // namespace

TextMistake TranslateReport(const std::string& report, const TextPlace& place,
                            const std::vector<TextToken>& tokens, size_t token) {
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
      return {.message = TranslateTokenizer(report), .in_token = true};
    case Complaint::kOther:
      break;
  }
  return {report};
}
size_t FindToken(const std::vector<TextToken>& tokens, const TextReport& report) {
  const auto at = std::lower_bound(tokens.begin(), tokens.end(), report.position,
                                   [](const TextToken& token, const TextPosition& position) {
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
}  // namespace tpurun
