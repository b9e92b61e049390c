#include "data/init/csv_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/csv.h"
#include "data/csv_rows.h"
#include "data/line_reader.h"
#include "data/transforms/check_json.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// Enough to tell a header from a row.
constexpr size_t kSampleLines = 200;
constexpr int64_t kRowsBetweenBounds = 1000;

using Rows = std::vector<std::vector<std::string>>;

// The number that decode_csv reads in a field; nullopt where it reads none, or NaN or an infinity.
std::optional<float> NumberOf(std::string_view field) {
  const std::optional<float> number = ParseFloat(StripBlanks(field));
  if (!number.has_value() || !std::isfinite(*number)) return std::nullopt;
  return number;
}

bool IsMissingText(std::string_view field) {
  return field.empty() ||
         std::find(kMissingTexts.begin(), kMissingTexts.end(), field) != kMissingTexts.end();
}

// Written as an infinity, or larger than a float.
bool IsOverflow(std::string_view field) {
  std::string_view number = StripBlanks(field);
  if (OverflowsFloat(number)) return true;
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  return absl::EqualsIgnoreCase(ToAbsl(number), "inf") ||
         absl::EqualsIgnoreCase(ToAbsl(number), "infinity");
}

bool IsText(std::string_view field) {
  return !IsMissingText(field) && !NumberOf(field) && !IsOverflow(field);
}

// Whether a text is a number or a time in some format.
bool IsFormatted(std::string_view field) {
  FormatCandidates candidates;
  candidates.Add(field);
  return candidates.any();
}

absl::StatusOr<std::unique_ptr<FileSource>> OpenTable(const std::string& file) {
  ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::OpenRegular(file));
  char magic[2] = {};
  ASSIGN_OR_RETURN(const size_t got, source->Read(magic, sizeof magic));
  if (got == sizeof magic && magic[0] == '\x1f' && magic[1] == '\x8b') {
    return absl::DataLossError(
        absl::StrCat(file, ": is compressed (GZIP), which text_line does not read: decompress it"));
  }
  return FileSource::OpenRegular(file);
}

// Lines that are not blank.
struct FileLines {
  std::vector<std::string> lines;
  int64_t first_number = 1;  // of the first of them in the file, from 1
};

absl::StatusOr<FileLines> FirstLines(const std::string& file, size_t most) {
  ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, OpenTable(file));
  LineReader reader(std::move(source));
  FileLines first;
  for (int64_t number = 1; first.lines.size() < most; ++number) {
    std::string_view line;
    const absl::StatusOr<bool> found = reader.Read(&line);
    if (!found.ok()) return Annotate(found.status(), absl::StrCat(file, ":", number));
    if (!*found) break;
    if (IsBlankLine(line)) continue;
    if (first.lines.empty()) first.first_number = number;
    first.lines.emplace_back(line);
  }
  return first;
}

// Those that cannot be split are left out: reading all of the file says so.
Rows SplitLines(const std::vector<std::string>& lines, const CsvFormat& format) {
  Rows rows;
  std::vector<std::string_view> fields;
  std::string scratch;
  for (const std::string& line : lines) {
    if (!SplitFields(line, format, &fields, &scratch).empty()) continue;
    rows.emplace_back(fields.begin(), fields.end());
  }
  return rows;
}

// "ROWS,COLUMNS,CLASS,CLASS...": COLUMNS are those before the label.
bool IsCountsLine(const Rows& rows) {
  const std::vector<std::string>& first = rows[0];
  if (rows.size() < 2 || first.size() < 3) return false;
  const std::optional<int64_t> count = ParseInt64(first[0]), columns = ParseInt64(first[1]);
  return count.has_value() && *count > 0 && columns == std::ssize(rows[1]) - 1 &&
         std::all_of(first.begin() + 2, first.end(), IsText);
}

// The first line names the columns when it has a text where all others have numbers, or, in a table
// without numbers, when each of its fields is new and rows repeat theirs.
bool IsHeader(const Rows& rows) {
  const std::vector<std::string>& first = rows[0];
  bool any_number = false, any_repeats = false, all_new = true;
  for (size_t column = 0; column < first.size(); ++column) {
    int64_t numbers = 0, texts = 0;
    std::set<std::string> values;
    for (size_t row = 1; row < rows.size(); ++row) {
      if (rows[row].size() != first.size()) continue;
      const std::string& field = rows[row][column];
      const bool is_text = IsText(field) && !IsFormatted(field);
      numbers += !is_text && !IsMissingText(field);
      texts += is_text;
      values.insert(field);
    }
    if (numbers > 0 && texts == 0 && IsText(first[column]) && !IsFormatted(first[column])) {
      return true;
    }
    any_number |= numbers > 0 && texts == 0;
    all_new &= IsText(first[column]) && values.count(first[column]) == 0;
    any_repeats |= values.size() + 1 < rows.size();
  }
  const std::set<std::string> distinct(first.begin(), first.end());
  return !any_number && all_new && any_repeats && distinct.size() == first.size();
}

class TableInspector {
 public:
  // Rows from `first_held_out` on are held out, whatever the shards are: those of a series.
  explicit TableInspector(int64_t shards, std::optional<char> delimiter,
                          int64_t first_held_out = std::numeric_limits<int64_t>::max())
      : delimiter_(delimiter), first_held_out_(first_held_out) {
    table_.shards = shards;
  }

  absl::StatusOr<InspectedTable> Inspect(const std::vector<std::string>& files,
                                         const std::vector<std::string>& eval_files,
                                         const ChooseTexts& choose_texts) {
    RETURN_IF_ERROR(ReadFirstLines(files.front()));
    RETURN_IF_ERROR(ReadAll(files, eval_files));
    RETURN_IF_ERROR(CheckNumbers());
    ChooseFormats();
    RETURN_IF_ERROR(AddChosenTexts(choose_texts, table_));
    if (table_.formatted.empty() && table_.texts.empty()) return std::move(table_);
    reads_again_ = true;
    row_ = 0;
    RETURN_IF_ERROR(ReadAll(files, eval_files));
    return std::move(table_);
  }

 private:
  absl::Status ReadAll(const std::vector<std::string>& files,
                       const std::vector<std::string>& eval_files) {
    return ReadInTurn(files, eval_files, &holds_out_,
                      [this](const std::string& file) { return ReadRows(file); });
  }

  // Columns of formatted values, whose texts are not all missing ones.
  void ChooseFormats() {
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (!candidates_[i].any()) continue;
      ColumnFormat format = candidates_[i].Choose(table_.delim);
      if (format.is_given()) {
        table_.formatted[i].format = std::move(format);
      } else if (!format.assumption.empty()) {
        table_.assumptions[i] = format.assumption;
      }
    }
  }

  absl::Status CheckNumbers() const {
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      const InspectedColumn& column = table_.columns[i];
      if (!column.IsNumberThatOverflows()) continue;
      const auto& [where, text] = column.first_overflow();
      return absl::DataLossError(
          absl::StrCat(where, ": column ", i + 1,
                       table_.titles.empty() ? "" : absl::StrCat(" ", Quote(table_.titles[i])),
                       ": want a number", kFloatBound, ", got ", ShownField(text),
                       "; leave the row or the column out of the file"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadFirstLines(const std::string& file) {
    ASSIGN_OR_RETURN(FileLines first, FirstLines(file, kSampleLines));
    std::vector<std::string>& lines = first.lines;
    const std::string where = absl::StrCat(file, ":", first.first_number);
    if (lines.empty()) return absl::DataLossError(absl::StrCat(where, ": no data rows"));
    RETURN_IF_ERROR(Annotate(CheckLineEnds(lines.front()), where));
    if (WrongJson(lines.front()).empty()) {
      return absl::DataLossError(
          absl::StrCat(where, ": is a JSON object: init jsonl reads JSON lines"));
    }
    first_line_ = lines.front();
    if (lines.front().starts_with(kByteOrderMark)) lines.front().erase(0, kByteOrderMark.size());
    table_.delim = delimiter_.value_or(GuessDelimiter(lines.front()));
    const Rows rows = SplitLines(lines, {.delim = table_.delim});
    if (rows.empty()) return absl::OkStatus();
    if (lines.size() == 1 && std::all_of(rows[0].begin(), rows[0].end(), IsText)) {
      return absl::DataLossError(absl::StrCat(file, ": a header alone, no data rows"));
    }
    if (IsCountsLine(rows)) {
      table_.skip_lines = first.first_number;
      table_.class_names = {rows[0].begin() + 2, rows[0].end()};
    } else if (IsHeader(rows)) {
      table_.skip_lines = first.first_number;
      for (const std::string& title : rows[0]) table_.titles.emplace_back(StripBlanks(title));
    } else if (lines.front() != first_line_) {
      return absl::DataLossError(
          absl::StrCat(where, ": begins with a byte order mark, save it without one"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadRows(const std::string& file) {
    ASSIGN_OR_RETURN(const FileColumns columns, FindColumns(file));
    ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, OpenTable(file));
    CsvRows rows({.delim = table_.delim});
    rows.Open(std::move(source), file, table_.skip_lines);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, rows.Read());
      if (!found) return absl::OkStatus();
      RETURN_IF_ERROR(CheckWidth(rows, file, columns));
      AddRow(rows, columns.places);
    }
  }

  // Where a file has the columns of the first one.
  struct FileColumns {
    size_t header_fields = 0;    // 0: it has no header
    std::vector<size_t> places;  // empty: in the same order
  };

  absl::StatusOr<FileColumns> FindColumns(const std::string& file) const {
    FileColumns columns = {.header_fields = table_.titles.size()};
    if (table_.skip_lines == 0) return columns;
    ASSIGN_OR_RETURN(const FileLines first, FirstLines(file, 1));
    const std::vector<std::string>& lines = first.lines;
    if (!lines.empty() && first.first_number != table_.skip_lines) {
      return absl::DataLossError(absl::StrCat(file, ":", first.first_number,
                                              ": the header is in this line, want line ",
                                              table_.skip_lines, " as in the first file"));
    }
    if (table_.titles.empty() || lines.empty() || lines.front() == first_line_) return columns;
    const Rows rows = SplitLines(lines, {.delim = table_.delim});
    const std::vector<std::string> header = rows.empty() ? std::vector<std::string>() : rows[0];
    columns.header_fields = header.size();
    for (const std::string& title : table_.titles) {
      const auto is_it = [&](const std::string& name) { return StripBlanks(name) == title; };
      const auto found = std::find_if(header.begin(), header.end(), is_it);
      if (title.empty() || std::count_if(header.begin(), header.end(), is_it) != 1 ||
          std::count(table_.titles.begin(), table_.titles.end(), title) != 1) {
        return absl::DataLossError(absl::StrCat(
            file, ":", first.first_number, ": got ", ShownField(lines.front()),
            ", want the columns of the first file's header, ", ShownField(first_line_)));
      }
      columns.places.push_back(found - header.begin());
    }
    return columns;
  }

  // CsvRows sees to it that all rows of a file are of one width.
  absl::Status CheckWidth(const CsvRows& rows, const std::string& file,
                          const FileColumns& columns) const {
    const size_t fields = rows.fields().size();
    if (columns.header_fields > 0) {
      if (fields == columns.header_fields) return absl::OkStatus();
      return absl::DataLossError(absl::StrCat(file, ":", table_.skip_lines, ": the header has ",
                                              columns.header_fields, " columns, want ", fields,
                                              " as in the first row"));
    }
    if (table_.columns.empty() || fields == table_.columns.size()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(rows.Where(), ": got ", fields, " columns, want ",
                                            table_.columns.size(), " as in the first file"));
  }

  void AddRow(const CsvRows& rows, const std::vector<size_t>& places) {
    const std::vector<std::string_view>& fields = rows.fields();
    if (reads_again_) return AddAgain(rows, places);
    table_.columns.resize(places.empty() ? fields.size() : places.size());
    candidates_.resize(table_.columns.size());
    const bool held_out = IsHeldOutRow(table_.rows);
    ++table_.rows;
    table_.held_out += held_out;
    const auto where = [&rows] { return rows.Where(); };
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      const std::string_view field = fields[places.empty() ? i : places[i]];
      InspectedColumn& column = table_.columns[i];
      if (field.empty()) {
        column.AddMissing(where);
      } else if (const std::optional<float> number = NumberOf(field)) {
        // Exactly, not as the model sees it: a float rounds large integers.
        const std::optional<int64_t> integer = ParseInt64(StripBlanks(field));
        const double value = integer.has_value() ? static_cast<double>(*integer) : *number;
        column.AddNumber(value, integer.has_value(), field, held_out);
      } else if (IsOverflow(field)) {
        column.AddOverflow(field, held_out, where);
      } else {
        column.AddText(field, held_out, where);
      }
      if (!field.empty()) candidates_[i].Add(field);
    }
    if (table_.rows % kRowsBetweenBounds != 0) return;
    std::vector<InspectedColumn*> columns;
    for (InspectedColumn& column : table_.columns) columns.push_back(&column);
    BoundValueCounts(columns);
  }

  bool is_series() const { return first_held_out_ != std::numeric_limits<int64_t>::max(); }

  bool IsHeldOutRow(int64_t row) const {
    return holds_out_ || row >= first_held_out_ || IsHeldOut(row, table_.shards);
  }

  // Adds a row of the second reading.
  void AddAgain(const CsvRows& rows, const std::vector<size_t>& places) {
    const bool held_out = IsHeldOutRow(row_++);
    const auto field = [&](size_t i) { return rows.fields()[places.empty() ? i : places[i]]; };
    for (auto& [i, column] : table_.formatted) {
      const std::string where = rows.Where();
      const std::optional<double> value = AddFormattedText(field(i), held_out, where, &column);
      if (is_series() && column.format.is_time()) table_.times[i].Add(value, field(i), where);
    }
    for (auto& [i, words] : table_.texts) {
      if (!field(i).empty()) words.Add(field(i), held_out);
    }
  }

  const std::optional<char> delimiter_;
  const int64_t first_held_out_;
  InspectedTable table_;
  std::vector<FormatCandidates> candidates_;  // of each column
  bool reads_again_ = false;                  // all has been read, formats and texts are chosen
  int64_t row_ = 0;                           // of the second reading
  std::string first_line_;
  bool holds_out_ = false;  // the rows that follow
};

}  // namespace

absl::Status ReadInTurn(const std::vector<std::string>& files,
                        const std::vector<std::string>& eval_files, bool* holds_out,
                        const std::function<absl::Status(const std::string& file)>& read) {
  *holds_out = false;
  for (const std::string& file : files) RETURN_IF_ERROR(read(file));
  *holds_out = true;
  for (const std::string& file : eval_files) RETURN_IF_ERROR(read(file));
  return absl::OkStatus();
}

absl::Status AddChosenTexts(const ChooseTexts& choose_texts, InspectedTable& table) {
  if (choose_texts == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::set<size_t> chosen, choose_texts(table));
  for (const size_t column : chosen) table.texts.emplace(column, TextWords());
  return absl::OkStatus();
}

absl::StatusOr<InspectedTable> InspectCsv(const std::vector<std::string>& files,
                                          const std::vector<std::string>& eval_files,
                                          int64_t shards, const ChooseTexts& choose_texts,
                                          std::optional<char> delimiter) {
  return TableInspector(shards, delimiter).Inspect(files, eval_files, choose_texts);
}

absl::StatusOr<InspectedTable> InspectSeries(const std::vector<std::string>& files,
                                             std::optional<char> delimiter) {
  ASSIGN_OR_RETURN(const InspectedTable counted,
                   TableInspector(kNoShards, delimiter).Inspect(files, {}, nullptr));
  const int64_t held_out = std::max<int64_t>(1, counted.rows / 10);
  return TableInspector(kNoShards, delimiter, counted.rows - held_out).Inspect(files, {}, nullptr);
}

}  // namespace tpurun
