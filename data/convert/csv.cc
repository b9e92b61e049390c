// Lines of comma-separated values into features that are ranges of columns, "NAME:KIND:COLUMNS":
//   image_raw:bytes:0-63    each column a number 0..255, together one string of 64 bytes
//   text:string:64          each column a string
//   label:int64:64          a list of int64
//   size:float:65-66+70     a list of float, of several ranges behind each other
// Columns count from 0. A field in quotes may have line breaks.
#include "data/csv.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/convert/convert.h"
#include "data/csv_rows.h"
#include "data/sources/files.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

struct ColumnRange {
  int64_t first = 0;
  int64_t last = 0;
};

struct CsvFeature {
  std::string name;
  std::string kind;
  std::vector<ColumnRange> columns;
};

std::optional<ColumnRange> ParseRange(const std::string& text) {
  const size_t dash = text.find('-');
  const std::optional<int64_t> first = ParseInt64(text.substr(0, dash));
  const std::optional<int64_t> last =
      dash == std::string::npos ? first : ParseInt64(text.substr(dash + 1));
  if (!first.has_value() || !last.has_value() || *first < 0 || *last < *first) return std::nullopt;
  return ColumnRange{*first, *last};
}

std::optional<CsvFeature> ParseFeature(const std::string& text) {
  const size_t columns = text.rfind(':');
  if (columns == std::string::npos || columns == 0) return std::nullopt;
  const size_t kind = text.rfind(':', columns - 1);
  if (kind == std::string::npos || kind == 0) return std::nullopt;
  CsvFeature feature{.name = text.substr(0, kind),
                     .kind = text.substr(kind + 1, columns - kind - 1)};
  const auto known = {"bytes", "string", "int64", "float"};
  if (std::find(known.begin(), known.end(), feature.kind) == known.end()) return std::nullopt;
  for (const auto range : absl::StrSplit(text.substr(columns + 1), '+')) {
    const std::optional<ColumnRange> parsed = ParseRange(std::string(range));
    if (!parsed.has_value()) return std::nullopt;
    feature.columns.push_back(*parsed);
  }
  return feature;
}

absl::StatusOr<std::vector<CsvFeature>> ParseFeatures(const ConvertArgs& args) {
  std::vector<CsvFeature> features;
  for (const std::string& text : args.features) {
    std::optional<CsvFeature> feature = ParseFeature(text);
    if (!feature.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--features: got ", Quote(text),
                       ", want NAME:KIND:COLUMNS with KIND bytes, string, int64 or float and "
                       "COLUMNS N or N-M from 0, joined by +, such as image_raw:bytes:0-26+28-63"));
    }
    RETURN_IF_ERROR(Annotate(CheckName(NameKind::kKey, feature->name), "--features"));
    for (const CsvFeature& other : features) {
      if (other.name == feature->name) {
        return absl::InvalidArgumentError(
            absl::StrCat("--features: ", Quote(feature->name), " is given twice"));
      }
    }
    features.push_back(*std::move(feature));
  }
  if (features.empty()) {
    return absl::InvalidArgumentError(
        "convert csv needs --features=NAME:KIND:COLUMNS,... such as "
        "--features=image_raw:bytes:0-63,label:int64:64");
  }
  return features;
}

// Puts a column's value behind the others of the feature; returns what was wanted, empty when all
// is well.
std::string AddValue(std::string_view field, const std::string& kind, tensorflow::Feature* to) {
  if (kind == "string") {
    to->mutable_bytes_list()->add_value(std::string(field));
    return "";
  }
  if (kind == "float") {
    const std::optional<float> value = ParseFloat(StripBlanks(field));
    if (OverflowsFloat(StripBlanks(field))) return absl::StrCat("a number", kFloatBound);
    if (!value.has_value()) return "a number";
    if (!std::isfinite(*value)) return "a finite number";
    to->mutable_float_list()->add_value(*value);
    return "";
  }
  const std::optional<int64_t> value = ParseInt64(StripBlanks(field));
  if (kind == "int64") {
    if (!value.has_value()) return "an integer";
    to->mutable_int64_list()->add_value(*value);
    return "";
  }
  if (!value.has_value() || *value < 0 || *value > 255) return "an integer 0..255";
  to->mutable_bytes_list()->mutable_value(0)->push_back(static_cast<char>(*value));
  return "";
}

class CsvConversion {
 public:
  CsvConversion(std::vector<CsvFeature> features, char delimiter, const ExampleSink& write)
      : features_(std::move(features)),
        delimiter_(delimiter),
        write_(write),
        rows_({.delim = delimiter, .line_breaks = true}) {}

  absl::Status ConvertFile(const std::string& path, int64_t skip_lines) {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
    rows_.Open(std::move(source), FileTitle(path), skip_lines);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, rows_.Read());
      if (!found) return absl::OkStatus();
      const std::string wrong = Convert(rows_.fields());
      if (!wrong.empty()) return absl::DataLossError(absl::StrCat(rows_.Where(), ": ", wrong));
      RETURN_IF_ERROR(write_(example_));
    }
  }

 private:
  // Makes example_; returns what is wrong, empty when nothing is.
  std::string Convert(const std::vector<std::string_view>& fields) {
    auto& map = *example_.mutable_features()->mutable_feature();
    for (const CsvFeature& feature : features_) {
      tensorflow::Feature& values = map[feature.name];
      values.Clear();
      if (feature.kind == "bytes") values.mutable_bytes_list()->add_value();
      for (const ColumnRange& range : feature.columns) {
        const std::string wrong = AddValues(range, feature, fields, &values);
        if (!wrong.empty()) return wrong;
      }
    }
    return "";
  }

  std::string AddValues(const ColumnRange& range, const CsvFeature& feature,
                        const std::vector<std::string_view>& fields,
                        tensorflow::Feature* values) const {
    if (range.last >= std::ssize(fields)) {
      return absl::StrCat("got ", fields.size(), " columns, want column ", range.last,
                          " (from 0) for feature ", Quote(feature.name), OtherDelimiter(fields));
    }
    for (int64_t column = range.first; column <= range.last; ++column) {
      const std::string want = AddValue(fields[column], feature.kind, values);
      if (want.empty()) continue;
      return absl::StrCat("column ", column, ": want ", want, " for feature ", Quote(feature.name),
                          ", got ", ShownField(fields[column]));
    }
    return "";
  }

  // What to do where a row of one column has other delimiters.
  std::string OtherDelimiter(const std::vector<std::string_view>& fields) const {
    if (fields.size() != 1) return "";
    const char guessed = GuessDelimiter(fields[0]);
    if (guessed == delimiter_ || fields[0].find(guessed) == std::string_view::npos) return "";
    return absl::StrCat("; --delimiter=", guessed == '\t' ? "tab" : Quote(std::string(1, guessed)),
                        " separates the columns where the row has it");
  }

  const std::vector<CsvFeature> features_;
  const char delimiter_;
  const ExampleSink& write_;
  CsvRows rows_;
  tensorflow::Example example_;
};

}  // namespace

absl::Status CheckCsv(const ConvertArgs& args) {
  RETURN_IF_ERROR(CheckNamedFiles("csv", args));
  if (args.skip_lines < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--skip_lines: got ", args.skip_lines, ", want a number >= 0"));
  }
  return ParseFeatures(args).status();
}

absl::Status ConvertCsv(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(std::vector<CsvFeature> features, ParseFeatures(args));
  CsvConversion conversion(std::move(features), args.delimiter, write);
  for (const std::string& path : args.inputs) {
    RETURN_IF_ERROR(conversion.ConvertFile(path, args.skip_lines));
  }
  return absl::OkStatus();
}

}  // namespace tpurun
