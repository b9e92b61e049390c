// decode_csv { column { name dtype default_value shape label title thousands decimal strip
// missing_indicator } ... }: splits "line" into columns by the rules of tf.io.decode_csv (RFC 4180:
// a quoted field may hold the delimiter, "" is a quote). Where the source gives a "header", the
// columns are those of these names.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "data/csv.h"
#include "data/field_value.h"
#include "data/line_reader.h"
#include "data/number_format.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

NumberFormat FormatOf(const proto::DecodeCsv::Column& column) {
  return {.thousands = column.thousands(),
          .decimal = column.decimal(),
          .strip = {column.strip().begin(), column.strip().end()}};
}

// The first of them.
std::string ShownNames(std::span<const std::string_view> names) {
  constexpr size_t kMost = 30;
  const std::span<const std::string_view> shown = names.first(std::min(names.size(), kMost));
  const auto append = [](std::string* out, std::string_view name) {
    absl::StrAppend(out, ShownField(name));
  };
  return absl::StrCat(absl::StrJoin(shown, ", ", append), names.size() > kMost ? ", ..." : "");
}

// AppendField of a number in the column's own format.
bool AppendFormatted(std::string_view field, const NumberFormat& format, std::string* scratch,
                     Column* column) {
  if (format.is_plain()) return AppendField(field, column);
  const std::optional<std::string_view> number = PlainNumber(field, format, scratch);
  return number.has_value() && AppendField(*number, column);
}

// "nan", which programs write for a number that is missing.
bool IsNaN(std::string_view field) {
  field = StripBlanks(field);
  if (field.empty() || absl::ascii_isdigit(field.back())) return false;  // most numbers
  const std::optional<float> number = ParseFloat(field);
  return number.has_value() && std::isnan(*number);
}

// What a row's fields are to the columns.
struct CsvLayout {
  int64_t row_fields = 0;       // of a row
  std::vector<int64_t> fields;  // of each element of each column its field; -1: absent
};

// The columns by their places and by their names.
class CsvColumns {
 public:
  // `elements`: of each column.
  CsvColumns(proto::DecodeCsv decode_csv, CsvFormat format, std::vector<int64_t> elements)
      : decode_csv_(std::move(decode_csv)),
        format_(std::move(format)),
        elements_(std::move(elements)) {
    for (const proto::DecodeCsv::Column& column : decode_csv_.column()) {
      numbers_.push_back(FormatOf(column));
      indicators_.push_back(column.has_missing_indicator() ? num_indicators_++ : -1);
    }
  }

  const proto::DecodeCsv& config() const { return decode_csv_; }
  const CsvFormat& format() const { return format_; }
  int size() const { return decode_csv_.column_size(); }
  int64_t elements(int column) const { return elements_[column]; }
  const NumberFormat& number_format(int column) const { return numbers_[column]; }
  // The features that the row is decoded to: the columns, then the indicators of some of them.
  int num_indicators() const { return num_indicators_; }
  // The index of the column's indicator among these features; -1: it has none.
  int indicator(int column) const {
    return indicators_[column] < 0 ? -1 : size() + indicators_[column];
  }

  // One after the other, as in the configuration.
  CsvLayout InOrder(bool lacks_labels) const {
    CsvLayout layout;
    for (int i = 0; i < size(); ++i) {
      const bool absent = lacks_labels && decode_csv_.column(i).label();
      for (int64_t element = 0; element < elements_[i]; ++element) {
        layout.fields.push_back(absent ? -1 : layout.row_fields++);
      }
    }
    return layout;
  }

  // Where the header has them. Returns what is wrong, empty when nothing is.
  std::string FindIn(std::string_view header, bool may_lack_labels, CsvLayout* layout) const {
    std::vector<std::string_view> names;
    std::string scratch;
    const std::string wrong = SplitHeader(header, &names, &scratch);
    if (!wrong.empty()) return absl::StrCat("the header: column ", names.size(), " ", wrong);
    *layout = {.row_fields = std::ssize(names)};
    for (int i = 0; i < size(); ++i) {
      for (int64_t element = 0; element < elements_[i]; ++element) {
        const std::string name = NameOf(i, element);
        const auto found = std::find(names.begin(), names.end(), name);
        const bool missing = found == names.end();
        if (missing && !(may_lack_labels && decode_csv_.column(i).label())) {
          return absl::StrCat("the header has no column ", Quote(name), "; it names ",
                              ShownNames(names));
        }
        if (!missing && std::find(found + 1, names.end(), name) != names.end()) {
          return absl::StrCat("the header has two columns ", Quote(name), ", want one");
        }
        layout->fields.push_back(missing ? -1 : found - names.begin());
      }
    }
    return "";
  }

  // A skipped line that names all columns, but in another order, is a header of other files than
  // the columns are of. Returns what is wrong, empty when nothing is.
  std::string CheckOrder(std::string_view skipped, bool may_lack_labels) const {
    CsvLayout layout;
    if (!FindIn(skipped, may_lack_labels, &layout).empty()) return "";
    std::erase(layout.fields, -1);
    if (std::is_sorted(layout.fields.begin(), layout.fields.end())) return "";
    return "the line that is skipped names the columns in another order than decode_csv has them; "
           "with text_line { header: true } in place of skip_lines they are found by their names";
  }

  // Of an element of a column, in the header.
  std::string NameOf(int column, int64_t element) const {
    const proto::DecodeCsv::Column& config = decode_csv_.column(column);
    const std::string& title = config.has_title() ? config.title() : config.name();
    return config.shape().empty() ? title : CountedName(title, element).value_or(title);
  }

 private:
  // The names without the blanks around them.
  std::string SplitHeader(std::string_view header, std::vector<std::string_view>* names,
                          std::string* scratch) const {
    if (header.starts_with(kByteOrderMark)) header.remove_prefix(kByteOrderMark.size());
    const std::string wrong = SplitFields(header, format_, names, scratch);
    for (std::string_view& name : *names) name = StripBlanks(name);
    return wrong;
  }

  proto::DecodeCsv decode_csv_;
  CsvFormat format_;
  std::vector<int64_t> elements_;
  std::vector<NumberFormat> numbers_;  // of each column
  std::vector<int> indicators_;        // of each column the number of its indicator, or -1
  int num_indicators_ = 0;
};

class CsvDecoder {
 public:
  // With `has_header` the rows of a file have the order of its header, else the first row decides
  // whether labels are absent, where they may be.
  CsvDecoder(CsvColumns columns, bool has_header, bool may_lack_labels)
      : columns_(std::move(columns)),
        has_header_(has_header),
        may_lack_labels_(may_lack_labels),
        layout_(columns_.InOrder(false)) {
    fields_without_labels_ = columns_.InOrder(true).row_fields;
    decided_ = !may_lack_labels || fields_without_labels_ == layout_.row_fields;
  }

  absl::Status operator()(const RowBatch& rows, Table* out) {
    const Table& in = rows.in;
    // BindDecodeCsv puts them last.
    const std::span<Column> made =
        std::span(out->columns).last(columns_.size() + columns_.num_indicators());
    for (Column& column : made) column.Clear();
    const Column& lines = in.column(kLine);
    for (int64_t row = 0; row < in.rows; ++row) {
      std::string wrong;
      if (has_header_) wrong = UseHeader(in.column(kHeader).string(row));
      if (wrong.empty()) wrong = DecodeLine(lines.string(row), made);
      if (!wrong.empty()) return absl::DataLossError(absl::StrCat(rows.where(row), ": ", wrong));
    }
    return absl::OkStatus();
  }

 private:
  // Returns what is wrong, empty when nothing is.
  std::string UseHeader(std::string_view header) {
    if (header == header_) return "";
    header_.clear();  // layout_ is of no header until all columns are found
    std::string wrong = columns_.FindIn(header, may_lack_labels_, &layout_);
    if (wrong.empty()) header_ = header;
    return wrong;
  }

  // Appends one row to the columns; returns what is wrong, empty when nothing is.
  std::string DecodeLine(std::string_view line, std::span<Column> made) {
    const std::string wrong = SplitFields(line, columns_.format(), &fields_, &scratch_);
    if (!wrong.empty()) {
      return absl::StrCat(FieldTitle(fields_.empty() ? 0 : std::ssize(fields_) - 1), " ", wrong);
    }
    const int64_t got = std::ssize(fields_);
    if (!has_header_ && !decided_ && got == fields_without_labels_) {
      layout_ = columns_.InOrder(true);
    }
    if (got != layout_.row_fields) return WrongNumber(line);
    decided_ = true;
    auto place = layout_.fields.begin();
    for (int i = 0; i < columns_.size(); ++i) {
      for (int64_t element = 0; element < columns_.elements(i); ++element, ++place) {
        const bool missing = *place < 0 || IsMissing(i, fields_[*place]);
        if (columns_.indicator(i) >= 0) {
          const float value = missing ? 1 : 0;
          made[columns_.indicator(i)].bytes.Append(&value, sizeof(value));
        }
        if (*place < 0) {
          AppendAbsent(i, &made[i]);
          continue;
        }
        const std::string mistake = AppendFieldOf(i, *place, missing, &made[i]);
        if (!mistake.empty()) return mistake;
      }
    }
    return "";
  }

  bool IsMissing(int index, std::string_view field) const {
    const std::vector<std::string>& na_values = columns_.format().na_values;
    return field.empty() ||
           std::find(na_values.begin(), na_values.end(), field) != na_values.end() ||
           (columns_.config().column(index).dtype() == proto::FLOAT32 && IsNaN(field));
  }

  std::string AppendFieldOf(int index, int64_t place, bool missing, Column* to) {
    const proto::DecodeCsv::Column& column = columns_.config().column(index);
    const NumberFormat& format = columns_.number_format(index);
    if (missing && !column.has_default_value()) {
      if (may_lack_labels_ && column.label()) {
        AppendAbsent(index, to);
        return "";
      }
      if (fields_[place].empty()) {
        return absl::StrCat(FieldTitle(place), ": the field is empty and has no default_value",
                            AdviceOfMissing(column.label(), column.dtype()));
      }
      return absl::StrCat(FieldTitle(place), ": the field is ", ShownField(fields_[place]),
                          ", which counts as missing, and has no default_value",
                          AdviceOfMissing(column.label(), column.dtype()));
    }
    const std::string_view field = missing ? column.default_value() : fields_[place];
    if (AppendFormatted(field, format, &number_, to) && (missing || LastIsFinite(*to))) return "";
    const std::optional<std::string_view> number = PlainNumber(field, format, &number_);
    const bool overflows = column.dtype() == proto::FLOAT32 && number.has_value() &&
                           (OverflowsFloat(*number) || ParseFloat(*number).has_value());
    return absl::StrCat(FieldTitle(place), ": want ", proto::DataType_Name(column.dtype()),
                        overflows           ? kFloatBound
                        : format.is_plain() ? ""
                                            : " in the format of the column",
                        ", got ", ShownField(field));
  }

  // Of the values of the column; an infinity would spoil what is computed of it.
  static bool LastIsFinite(const Column& column) {
    return column.type.dtype != proto::FLOAT32 || std::isfinite(column.values<float>().back());
  }

  // What transforms see of a label that is absent; no model is fed it.
  void AppendAbsent(int index, Column* to) {
    const proto::DecodeCsv::Column& label = columns_.config().column(index);
    const std::string_view zero = label.dtype() == proto::STRING ? "" : "0";
    AppendFormatted(label.has_default_value() ? std::string_view(label.default_value()) : zero,
                    columns_.number_format(index), &number_, to);
  }

  std::string WrongNumber(std::string_view line) const {
    const int64_t want = layout_.row_fields;
    std::string text = absl::StrCat("want ", want, want == 1 ? " column" : " columns");
    if (has_header_) {
      absl::StrAppend(&text, " as in the header");
    } else if (!decided_) {
      absl::StrAppend(&text, ", or ", fields_without_labels_, " without labels");
    } else if (want != columns_.InOrder(false).row_fields) {
      absl::StrAppend(&text, ", without labels as the first row");
    }
    absl::StrAppend(&text, ", got ", fields_.size());
    absl::StrAppend(&text, line.empty() ? " (the line is empty)" : ": " + ShownField(line));
    if (line.find('\r') != std::string_view::npos) {
      absl::StrAppend(&text, "; it holds CR (\\r), want lines that end with LF or CR LF");
    }
    return text;
  }

  // "column 3 "label"", a field of a row from 0, in the title from 1.
  std::string FieldTitle(int64_t field) const {
    auto place = layout_.fields.begin();
    for (int i = 0; i < columns_.size(); ++i) {
      for (int64_t element = 0; element < columns_.elements(i); ++element, ++place) {
        if (*place != field) continue;
        return absl::StrCat("column ", field + 1, " ", Quote(columns_.config().column(i).name()));
      }
    }
    return absl::StrCat("column ", field + 1);
  }

  const CsvColumns columns_;
  const bool has_header_;
  const bool may_lack_labels_;
  CsvLayout layout_;
  int64_t fields_without_labels_ = 0;
  bool decided_ = false;  // without a header, whether rows lack the labels
  std::string header_;    // that layout_ is of
  std::vector<std::string_view> fields_;
  std::string scratch_;
  std::string number_;  // one field in C notation
};

bool HasSeveralFields(const proto::DecodeCsv::Column& column) {
  return std::any_of(column.shape().begin(), column.shape().end(),
                     [](int64_t dim) { return dim != 1; });
}

// The texts that count as missing.
std::vector<std::string> MissingTexts(const CsvFormat& format) {
  std::vector<std::string> texts = {""};
  for (const std::string& text : format.na_values) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

// Whether a field of an exported model can say that it is missing: a number by NaN, and a text.
bool CanBeMissing(const proto::DecodeCsv::Column& column) {
  return column.dtype() == proto::FLOAT32 || column.dtype() == proto::STRING;
}

// What an exported model does with the fields: fills what is missing, and makes the indicators.
RowTransform::Export ExportFills(const CsvColumns& columns, ExportFormat format) {
  return [columns, format](ExportGraph& graph, const std::set<std::string>& wanted,
                           std::map<std::string, Value>& values) {
    const std::vector<std::string> texts = MissingTexts(columns.format());
    for (const proto::DecodeCsv::Column& column : columns.config().column()) {
      const auto found = values.find(column.name());
      if (!column.has_default_value() || !CanBeMissing(column) || found == values.end()) continue;
      const bool is_number = column.dtype() == proto::FLOAT32;
      const std::string& fill = column.default_value();
      const Value x = found->second;
      if (column.has_missing_indicator() && wanted.count(column.missing_indicator()) > 0) {
        values[column.missing_indicator()] =
            is_number ? IndicateNaN(graph, format, x) : IndicateTexts(graph, format, x, texts);
      }
      if (wanted.count(column.name()) == 0) continue;
      if (is_number) {
        std::string scratch;
        const std::string_view number = *PlainNumber(fill, FormatOf(column), &scratch);
        values[column.name()] = FillNaN(graph, format, x, *ParseFloat(number));
      } else {
        values[column.name()] = FillTexts(graph, format, x, texts, fill);
      }
    }
  };
}

std::map<std::string, std::string> IndicatorsMadeOf(const proto::DecodeCsv& decode_csv) {
  std::map<std::string, std::string> made_of;
  for (const proto::DecodeCsv::Column& column : decode_csv.column()) {
    if (column.has_missing_indicator() && CanBeMissing(column))
      made_of[column.missing_indicator()] = column.name();
  }
  return made_of;
}

RowTransform::Fields::Notes NotesOf(const CsvColumns& columns, const std::string& name) {
  RowTransform::Fields::Notes notes;
  for (const proto::DecodeCsv::Column& column : columns.config().column()) {
    if (column.has_missing_indicator() && column.missing_indicator() == name) {
      notes.note = absl::StrCat("1 if ", Quote(column.name()), " is missing, else 0");
    }
    if (column.name() != name) continue;
    if (column.has_title() && column.title() != name) {
      notes.note = absl::StrCat("column ", Quote(column.title()),
                                HasSeveralFields(column) ? " and those after it" : "");
    }
    if (!column.has_default_value()) continue;
    const std::string& fill = column.default_value();
    const char* const and_also = notes.note.empty() ? "" : "; ";
    if (column.dtype() == proto::FLOAT32) {
      absl::StrAppend(&notes.note, and_also, "NaN is missing: ", fill);
    } else if (column.dtype() == proto::STRING) {
      std::vector<std::string> texts = MissingTexts(columns.format());
      for (std::string& text : texts) text = Quote(text);
      absl::StrAppend(&notes.note, and_also, absl::StrJoin(texts, " or "),
                      " is missing: ", Quote(fill));
    } else {
      notes.unsaid =
          absl::StrCat("it may be missing in a row: feed its default_value, ", fill, ", then");
    }
  }
  return notes;
}

// `number` counts from 1.
void CheckColumn(const proto::DecodeCsv::Column& column, int number, bool has_header,
                 const std::string& path, ConfigErrors& errors) {
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
  if (has_header && HasSeveralFields(column) && !CountedName(column.title(), 0).has_value()) {
    errors.Add(place, "title",
               absl::StrCat("title must be the name of the first field in the header, which ends "
                            "with a number, such as pixel0, got ",
                            Quote(column.title())));
  }
  if (!has_header && column.has_title()) {
    errors.Add(place, "title", "title is a name in a header: add header: true to text_line");
  }
  const NumberFormat format = FormatOf(column);
  if (!format.is_plain() && dtype == proto::STRING) {
    errors.Add(place, "dtype",
               "thousands, decimal and strip are for columns of numbers, got dtype: STRING");
    return;
  }
  const std::string wrong = WrongFormat(format);
  if (!wrong.empty()) {
    errors.Add(place, "", wrong);
    return;
  }
  if (column.has_missing_indicator() && !column.has_default_value()) {
    errors.Add(place, "missing_indicator",
               "missing_indicator needs a default_value, the value of the column where it is "
               "missing");
  }
  Column probe{.type = {column.name(), dtype, {}}};
  std::string scratch;
  if (column.has_default_value() &&
      !AppendFormatted(column.default_value(), format, &scratch, &probe)) {
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
  if (decode_csv.field_delim().size() != 1) {
    errors.Add("field_delim", absl::StrCat("field_delim must be one character, got ",
                                           Quote(decode_csv.field_delim())));
  }
  RowTransform bound{.output = input, .reads = {kLine}};
  const bool has_header = FindColumn(input, kHeader) >= 0;
  const bool skips = FindColumn(input, kSkippedLine) >= 0;
  if (has_header) bound.reads.push_back(kHeader);
  std::erase_if(bound.output, [](const ColumnType& type) {
    return type.name == kLine || type.name == kHeader || type.name == kSkippedLine;
  });
  const auto make = [&](const std::string& name, proto::DataType dtype,
                        const proto::DecodeCsv::Column& column) {
    bound.output.push_back({name, dtype, {column.shape().begin(), column.shape().end()}});
    bound.makes.push_back(name);
    if (column.label()) bound.labels.push_back(name);
  };
  const auto check_new = [&](const std::string& name, int number, const std::string& path) {
    if (name.empty() || FindColumn(bound.output, name) < 0) return;
    errors.Add(path,
               absl::StrCat("column ", number, ": the key ", Quote(name), " is there already"));
  };
  std::vector<int64_t> elements;
  for (int i = 0; i < decode_csv.column_size(); ++i) {
    const proto::DecodeCsv::Column& column = decode_csv.column(i);
    const std::string path = ElementPath("column", i);
    CheckColumn(column, i + 1, has_header, path, errors);
    check_new(column.name(), i + 1, path);
    make(column.name(), column.dtype(), column);
    if (errors.empty()) elements.push_back(bound.output.back().elements());
  }
  for (int i = 0; i < decode_csv.column_size(); ++i) {
    const proto::DecodeCsv::Column& column = decode_csv.column(i);
    if (!column.has_missing_indicator()) continue;
    const std::string path = FieldPath(ElementPath("column", i), "missing_indicator");
    CheckColumnName(column.missing_indicator(), {absl::StrCat("column ", i + 1), path}, "", errors);
    check_new(column.missing_indicator(), i + 1, path);
    make(column.missing_indicator(), proto::FLOAT32, column);
  }
  if (!errors.empty()) return std::nullopt;
  const CsvFormat format = {
      .delim = decode_csv.field_delim()[0],
      .quotes = decode_csv.use_quote_delim(),
      .na_values = {decode_csv.na_value().begin(), decode_csv.na_value().end()}};
  const CsvColumns columns(decode_csv, format, elements);
  bound.open = [columns, has_header, skips](const RowOpenArgs& args, RowTransform* row) {
    const bool may_lack_labels = args.mode == ModeKey::kPredict;
    for (const FileHeader& header : args.headers) {
      CsvLayout layout;
      const std::string wrong = has_header ? columns.FindIn(header.line, may_lack_labels, &layout)
                                : skips    ? columns.CheckOrder(header.line, may_lack_labels)
                                           : "";
      if (!wrong.empty()) return absl::DataLossError(absl::StrCat(header.where, ": ", wrong));
    }
    row->apply = CsvDecoder(columns, has_header, may_lack_labels);
    return absl::OkStatus();
  };
  bound.fields = RowTransform::Fields{
      .notes = [columns](const std::string& name, ExportFormat) { return NotesOf(columns, name); },
      .made_of = IndicatorsMadeOf(decode_csv)};
  bound.tensorflow = ExportFills(columns, ExportFormat::kTensorFlow);
  bound.onnx = ExportFills(columns, ExportFormat::kOnnx);
  return bound;
}

}  // namespace tpurun
