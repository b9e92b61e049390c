// decode_csv { column { name dtype default_value shape label } ... }: splits "line" into columns by
// the rules of tf.io.decode_csv (RFC 4180: a quoted field may hold the delimiter, "" is a quote).
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/csv.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kLine[] = "line";

// Appends the value of a field; false when it is not one of the column's type.
bool AppendField(std::string_view field, Column* column) {
  const auto append = [&](auto value) {
    column->bytes.Append(&value, sizeof(value));
    return true;
  };
  switch (column->type.dtype) {
    case proto::FLOAT32: {
      const std::optional<float> value = ParseFloat(StripBlanks(field));
      return value.has_value() && append(*value);
    }
    case proto::INT64: {
      const std::optional<int64_t> value = ParseInt64(StripBlanks(field));
      return value.has_value() && append(*value);
    }
    case proto::INT32: {
      const std::optional<int64_t> value = ParseInt64(StripBlanks(field));
      return value.has_value() && std::in_range<int32_t>(*value) &&
             append(static_cast<int32_t>(*value));
    }
    default:
      column->AppendString(field);
      return true;
  }
}

class CsvDecoder {
 public:
  // `elements`: of each column. The first row decides whether labels are absent, where they may be.
  CsvDecoder(const proto::DecodeCsv& decode_csv, CsvFormat format,
             std::span<const int64_t> elements, bool may_lack_labels)
      : decode_csv_(decode_csv), format_(std::move(format)) {
    for (int i = 0; i < decode_csv_.column_size(); ++i) {
      elements_.push_back(elements[i]);
      fields_of_all_ += elements[i];
      if (!decode_csv_.column(i).label()) fields_without_labels_ += elements[i];
    }
    decided_ = !may_lack_labels || fields_without_labels_ == fields_of_all_;
  }

  absl::Status operator()(const Table& in, Table* out,
                          const std::function<std::string(int64_t row)>& where) {
    // BindDecodeCsv puts them last.
    const std::span<Column> made = std::span(out->columns).last(elements_.size());
    for (Column& column : made) column.Clear();
    const Column& lines = in.column(kLine);
    for (int64_t row = 0; row < in.rows; ++row) {
      const std::string wrong = DecodeLine(lines.string(row), made);
      if (!wrong.empty()) return absl::DataLossError(absl::StrCat(where(row), ": ", wrong));
    }
    return absl::OkStatus();
  }

 private:
  // Appends one row to the columns; returns what is wrong, empty when nothing is.
  std::string DecodeLine(std::string_view line, std::span<Column> made) {
    const std::string wrong = SplitFields(line, format_, &fields_, &scratch_);
    if (!wrong.empty()) {
      return absl::StrCat(FieldTitle(fields_.empty() ? 0 : fields_.size() - 1), " ", wrong);
    }
    const int64_t got = std::ssize(fields_);
    if (!decided_) lacks_labels_ = got == fields_without_labels_;
    if (got != (lacks_labels_ ? fields_without_labels_ : fields_of_all_)) {
      return WrongNumber(line);
    }
    decided_ = true;
    size_t next = 0;
    for (int i = 0; i < decode_csv_.column_size(); ++i) {
      const proto::DecodeCsv::Column& column = decode_csv_.column(i);
      if (lacks_labels_ && column.label()) {
        AppendAbsent(column, elements_[i], &made[i]);
        continue;
      }
      for (int64_t element = 0; element < elements_[i]; ++element, ++next) {
        std::string_view field = fields_[next];
        if (field.empty() || field == format_.na_value) {
          if (!column.has_default_value()) {
            return absl::StrCat(FieldTitle(next), ": the field is empty and has no default_value");
          }
          field = column.default_value();
        }
        if (!AppendField(field, &made[i])) {
          return absl::StrCat(FieldTitle(next), ": want ", proto::DataType_Name(column.dtype()),
                              ", got ", ShownField(field));
        }
      }
    }
    return "";
  }

  // What transforms see of a label that is absent; no model is fed it.
  static void AppendAbsent(const proto::DecodeCsv::Column& label, int64_t elements, Column* to) {
    const std::string_view zero = label.dtype() == proto::STRING ? "" : "0";
    for (int64_t element = 0; element < elements; ++element) {
      AppendField(label.has_default_value() ? std::string_view(label.default_value()) : zero, to);
    }
  }

  std::string WrongNumber(std::string_view line) const {
    const int64_t want = lacks_labels_ ? fields_without_labels_ : fields_of_all_;
    std::string text = absl::StrCat("want ", want, want == 1 ? " column" : " columns");
    if (!decided_) absl::StrAppend(&text, ", or ", fields_without_labels_, " without labels");
    if (decided_ && lacks_labels_) absl::StrAppend(&text, ", without labels as the first row");
    absl::StrAppend(&text, ", got ", fields_.size());
    return absl::StrCat(text, line.empty() ? " (the line is empty)" : ": " + ShownField(line));
  }

  // "column 3 "label"", a field of a row counted from 1.
  std::string FieldTitle(size_t field) const {
    int64_t before = 0;
    for (int i = 0; i < decode_csv_.column_size(); ++i) {
      if (lacks_labels_ && decode_csv_.column(i).label()) continue;
      before += elements_[i];
      if (static_cast<int64_t>(field) < before) {
        return absl::StrCat("column ", field + 1, " ", Quote(decode_csv_.column(i).name()));
      }
    }
    return absl::StrCat("column ", field + 1);
  }

  const proto::DecodeCsv decode_csv_;
  const CsvFormat format_;
  std::vector<int64_t> elements_;  // of each column
  int64_t fields_of_all_ = 0;      // of a row
  int64_t fields_without_labels_ = 0;
  bool decided_ = false;       // whether rows lack the labels
  bool lacks_labels_ = false;  // once it is decided
  std::vector<std::string_view> fields_;
  std::string scratch_;
};

// `number` counts from 1.
void CheckColumn(const proto::DecodeCsv::Column& column, int number, const std::string& path,
                 ConfigErrors& errors) {
  const std::string title = absl::StrCat("column ", number);
  if (column.name().empty()) {
    errors.Add(path, absl::StrCat(title, " has no name"));
    return;
  }
  CheckColumnName(column.name(), {title, path}, "name", errors);
  const ConfigPlace place = {absl::StrCat(title, " ", Quote(column.name())), path};
  CheckDims({column.shape().begin(), column.shape().end()}, place, "shape", errors);
  const proto::DataType dtype = column.dtype();
  if (dtype != proto::FLOAT32 && dtype != proto::INT32 && dtype != proto::INT64 &&
      dtype != proto::STRING) {
    errors.Add(
        place, "dtype",
        absl::StrCat("dtype must be FLOAT32, INT32, INT64 or STRING, got ",
                     proto::DataType_Name(dtype), "; a cast after decode_csv makes other types"));
    return;
  }
  Column probe{.type = {column.name(), dtype, {}}};
  if (column.has_default_value() && !AppendField(column.default_value(), &probe)) {
    errors.Add(place, "default_value",
               absl::StrCat("default_value must be ", proto::DataType_Name(dtype), ", got ",
                            ShownField(column.default_value())));
  }
}

}  // namespace

std::optional<RowTransform> BindDecodeCsv(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors) {
  const proto::DecodeCsv& decode_csv = transform.decode_csv();
  const int line = FindColumn(input, kLine);
  if (line < 0 || input[line].dtype != proto::STRING || !input[line].dims.empty()) {
    errors.Add("",
               absl::StrCat("decodes the key \"line\" of a text_line source; the keys here are ",
                            absl::StrJoin(ColumnNames(input), ", ")));
    return std::nullopt;
  }
  if (decode_csv.column().empty()) errors.Add("column", "column must be given");
  if (decode_csv.field_delim().size() != 1) {
    errors.Add("field_delim", absl::StrCat("field_delim must be one character, got ",
                                           Quote(decode_csv.field_delim())));
  }
  RowTransform bound{.output = input, .reads = {kLine}};
  bound.output.erase(bound.output.begin() + line);
  for (int i = 0; i < decode_csv.column_size(); ++i) {
    const proto::DecodeCsv::Column& column = decode_csv.column(i);
    const std::string path = ElementPath("column", i);
    CheckColumn(column, i + 1, path, errors);
    if (!column.name().empty() && FindColumn(bound.output, column.name()) >= 0) {
      errors.Add(path, absl::StrCat("column ", i + 1, ": the key ", Quote(column.name()),
                                    " is there already"));
    }
    bound.output.push_back(
        {column.name(), column.dtype(), {column.shape().begin(), column.shape().end()}});
    bound.makes.push_back(column.name());
    if (column.label()) bound.labels.push_back(column.name());
  }
  if (!errors.empty()) return std::nullopt;
  std::vector<int64_t> elements;
  for (const ColumnType& type : std::span(bound.output).last(bound.makes.size())) {
    elements.push_back(type.elements());
  }
  const CsvFormat format = {.delim = decode_csv.field_delim()[0],
                            .quotes = decode_csv.use_quote_delim(),
                            .na_value = decode_csv.na_value()};
  bound.open = [decode_csv, format, elements](const RowOpenArgs& args, RowTransform* row) {
    row->apply = CsvDecoder(decode_csv, format, elements, args.mode == ModeKey::kPredict);
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace tpurun
