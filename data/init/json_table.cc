#include "data/init/json_table.h"

#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "data/csv.h"
#include "data/line_reader.h"
#include "data/transforms/check_json.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using JsonValue = nlohmann::ordered_json;

constexpr int64_t kLinesBetweenBounds = 1000;
// More members than these are data under keys, not names of columns.
constexpr size_t kMostMembers = 2000;

// The shape of nested arrays of numbers or null; false if they have none.
bool ShapeOf(const JsonValue& value, size_t dimension, std::vector<int64_t>* shape) {
  if (!value.is_array()) {
    return dimension == shape->size() &&
           (value.is_number() || value.is_boolean() || value.is_null());
  }
  if (value.empty()) return false;
  if (dimension == shape->size()) shape->push_back(std::ssize(value));
  if ((*shape)[dimension] != std::ssize(value)) return false;
  for (const JsonValue& element : value) {
    if (!ShapeOf(element, dimension + 1, shape)) return false;
  }
  return true;
}

class JsonInspector {
 public:
  explicit JsonInspector(int64_t shards) {
    table_.is_json = true;
    table_.shards = shards;
  }

  absl::StatusOr<InspectedTable> Inspect(const std::vector<std::string>& files,
                                         const std::vector<std::string>& eval_files,
                                         const ChooseTexts& choose_texts) {
    RETURN_IF_ERROR(ReadAll(files, eval_files));
    if (table_.rows == 0) return absl::DataLossError(absl::StrCat(files.front(), ": no lines"));
    if (table_.columns.empty()) {
      return absl::DataLossError(
          absl::StrCat(files.front(), ": no object has a member, want JSON objects, one a line"));
    }
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      // decode_json cannot take a value and what is within it.
      if (objects_.count(table_.titles[i]) > 0) table_.arrays[i].wrong = "objects and other values";
      const InspectedColumn& column = table_.columns[i];
      const bool is_text = column.texts() > 0 && column.numbers() == 0;
      if (!is_text || table_.arrays.count(i) > 0 || !candidates_[i].any()) continue;
      ColumnFormat format = candidates_[i].Choose(',');
      if (format.is_time()) table_.formatted[i].format = std::move(format);
    }
    RETURN_IF_ERROR(AddChosenTexts(choose_texts, table_));
    if (table_.formatted.empty() && table_.texts.empty()) return std::move(table_);
    reads_again_ = true;
    rows_ = 0;
    RETURN_IF_ERROR(ReadAll(files, eval_files));
    return std::move(table_);
  }

 private:
  absl::Status ReadAll(const std::vector<std::string>& files,
                       const std::vector<std::string>& eval_files) {
    return ReadInTurn(files, eval_files, &holds_out_,
                      [this](const std::string& file) { return ReadFile(file); });
  }

  absl::Status ReadFile(const std::string& file) {
    ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::OpenRegular(file));
    LineReader lines(std::move(source));
    for (int64_t number = 1;; ++number) {
      std::string_view line;
      where_ = absl::StrCat(file, ":", number);
      const absl::StatusOr<bool> found = lines.Read(&line);
      if (!found.ok()) return Annotate(found.status(), where_);
      if (!*found) return absl::OkStatus();
      if (IsBlankLine(line)) continue;
      RETURN_IF_ERROR(Annotate(ReadLine(line), where_));
    }
  }

  absl::Status ReadLine(std::string_view line) {
    const std::string wrong = WrongJson(line);
    if (!wrong.empty()) return absl::DataLossError(wrong);
    const JsonValue row = JsonValue::parse(line.begin(), line.end(), nullptr, false);
    if (rows_ == 0) first_where_ = where_;
    held_out_ = holds_out_ || IsHeldOut(rows_, table_.shards);
    seen_.assign(table_.columns.size(), false);
    RETURN_IF_ERROR(AddMembers(row, "", true));
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (!seen_[i]) AddMissing(i);
    }
    ++rows_;
    if (reads_again_) return absl::OkStatus();
    table_.rows = rows_;
    table_.held_out += held_out_;
    if (rows_ % kLinesBetweenBounds != 0) return absl::OkStatus();
    std::vector<InspectedColumn*> columns;
    for (InspectedColumn& column : table_.columns) columns.push_back(&column);
    if (!columns.empty()) BoundValueCounts(columns);
    return absl::OkStatus();
  }

  // `path` is the JSON Pointer to the object.
  absl::Status AddMembers(const JsonValue& object, const std::string& path, bool is_top) {
    for (const auto& [key, value] : object.items()) {
      const std::string pointer =
          absl::StrCat(path, "/", absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}));
      // A key alone, if decode_json does not take it for a pointer.
      const std::string title = is_top && !key.starts_with('/') && !key.empty() ? key : pointer;
      if (value.is_object()) {
        if (!reads_again_) objects_.insert(title);
        RETURN_IF_ERROR(AddMembers(value, pointer, false));
        continue;
      }
      ASSIGN_OR_RETURN(const size_t column, FindColumn(title));
      seen_[column] = true;
      RETURN_IF_ERROR(reads_again_ ? AddAgain(column, value) : Add(column, value));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> FindColumn(const std::string& title) {
    const auto [found, is_new] = columns_.emplace(title, table_.columns.size());
    if (!is_new) return found->second;
    if (columns_.size() > kMostMembers) {
      return absl::DataLossError(absl::StrCat("got more than ", kMostMembers,
                                              " different members, the last ", ShownField(title)));
    }
    table_.titles.push_back(title);
    table_.columns.emplace_back();
    candidates_.emplace_back();
    seen_.push_back(false);
    if (rows_ > 0) AddMissing(found->second, rows_, first_where_);
    return found->second;
  }

  // `first` is the place of the first of the rows; empty: of the one that is read.
  void AddMissing(size_t column, int64_t rows = 1, const std::string& first = "") {
    const auto where = [&] { return first.empty() ? where_ : first; };
    if (reads_again_) {
      const auto formatted = table_.formatted.find(column);
      if (formatted != table_.formatted.end()) formatted->second.values.AddMissing(where, rows);
      return;
    }
    table_.columns[column].AddMissing(where, rows);
    const auto array = table_.arrays.find(column);
    if (array != table_.arrays.end()) array->second.missing += rows;
  }

  absl::Status Add(size_t index, const JsonValue& value) {
    if (value.is_null()) {
      AddMissing(index);
      return absl::OkStatus();
    }
    if (value.is_array()) return AddArray(index, value);
    InspectedColumn& column = table_.columns[index];
    if (table_.arrays.count(index) > 0) table_.arrays[index].wrong = "arrays and other values";
    if (value.is_string()) {
      const std::string& text = value.get_ref<const std::string&>();
      column.AddText(text, held_out_, [this] { return where_; });
      if (!text.empty()) candidates_[index].Add(text);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const double number, NumberOf(value, table_.titles[index]));
    const bool is_integer = !value.is_number_float();
    const std::string text = value.is_boolean() ? absl::StrCat(number) : value.dump();
    column.AddNumber(number, is_integer, text, held_out_);
    return absl::OkStatus();
  }

  static absl::StatusOr<double> NumberOf(const JsonValue& value, const std::string& title) {
    const double number = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
    if (std::abs(number) <= std::numeric_limits<float>::max()) return number;
    return absl::DataLossError(
        absl::StrCat(Quote(title), ": want a number", kFloatBound, ", got ", value.dump()));
  }

  absl::Status AddArray(size_t index, const JsonValue& value) {
    InspectedArray& array = table_.arrays[index];
    InspectedColumn& column = table_.columns[index];
    // The missing ones of the rows before.
    if (column.numbers() + column.texts() > 0) array.wrong = "arrays and other values";
    if (array.shape.empty()) array.missing = column.empty();
    std::vector<int64_t> shape;
    if (!ShapeOf(value, 0, &shape)) {
      array.wrong = "arrays of other values than numbers, or of no one length";
    } else if (!array.shape.empty() && shape != array.shape) {
      array.wrong = absl::StrCat("arrays of different shapes, [", absl::StrJoin(array.shape, ","),
                                 "] and [", absl::StrJoin(shape, ","), "]");
    }
    if (!array.wrong.empty()) return absl::OkStatus();
    array.shape = shape;
    if (shape.size() == 1 && shape[0] <= kMostScaledElements) array.elements.resize(shape[0]);
    bool has_null = false;
    size_t element = 0;
    RETURN_IF_ERROR(AddElements(value, table_.titles[index], array, &element, &has_null));
    array.missing += has_null;
    return absl::OkStatus();
  }

  // `next` counts the elements of the array.
  absl::Status AddElements(const JsonValue& value, const std::string& title, InspectedArray& array,
                           size_t* next, bool* has_null) {
    if (value.is_array()) {
      for (const JsonValue& element : value) {
        RETURN_IF_ERROR(AddElements(element, title, array, next, has_null));
      }
      return absl::OkStatus();
    }
    const size_t element = (*next)++;
    if (value.is_null()) {
      *has_null = true;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const double number, NumberOf(value, title));
    array.all.Add(number);
    if (held_out_) return absl::OkStatus();
    array.train.Add(number);
    if (!array.elements.empty()) array.elements[element].Add(number);
    return absl::OkStatus();
  }

  // Of the second reading.
  absl::Status AddAgain(size_t index, const JsonValue& value) {
    const auto words = table_.texts.find(index);
    if (words != table_.texts.end() && value.is_string()) {
      words->second.Add(value.get_ref<const std::string&>(), held_out_);
    }
    const auto formatted = table_.formatted.find(index);
    if (formatted == table_.formatted.end()) return absl::OkStatus();
    if (!value.is_string()) {
      AddMissing(index);
      return absl::OkStatus();
    }
    AddFormattedText(value.get_ref<const std::string&>(), held_out_, where_, &formatted->second);
    return absl::OkStatus();
  }

  InspectedTable table_;
  std::map<std::string, size_t> columns_;     // by title
  std::set<std::string> objects_;             // titles of values that are objects
  std::vector<FormatCandidates> candidates_;  // of each column
  bool reads_again_ = false;                  // all has been read, formats and texts are chosen
  bool holds_out_ = false;                    // all rows of the file
  bool held_out_ = false;                     // the row
  int64_t rows_ = 0;                          // that have been read
  std::string where_;                         // the row
  std::string first_where_;                   // the first row
  std::vector<bool> seen_;                    // [column], in the row
};

}  // namespace

absl::StatusOr<InspectedTable> InspectJson(const std::vector<std::string>& files,
                                           const std::vector<std::string>& eval_files,
                                           int64_t shards, const ChooseTexts& choose_texts) {
  return JsonInspector(shards).Inspect(files, eval_files, choose_texts);
}

}  // namespace tpurun
