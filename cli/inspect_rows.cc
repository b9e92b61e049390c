#include "cli/inspect_rows.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string CellText(const Json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_string()) return Escape(cell.get_ref<const std::string&>());
  if (!cell.is_array()) return JsonText(cell);
  std::vector<std::string> elements;
  for (const Json& element : cell) elements.push_back(CellText(element));
  return absl::StrCat("[", absl::StrJoin(elements, ","), "]");
}

// Empty where the row has none.
std::string CellOf(const Json& row, const std::string& key) {
  const auto cell = row.find(key);
  return cell == row.end() ? "" : CellText(*cell);
}

void AddSaturated(int64_t value, int64_t& sum) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = std::numeric_limits<int64_t>::max();
}

}  // namespace

void RowWriter::Title(std::string_view text) {
  if (!json_) out_ << text << "\n";
}

void RowWriter::Object(const Json& object) {
  if (json_) out_ << JsonText(object) << "\n";
}

void RowWriter::Table(std::vector<RowColumn> columns, const std::vector<Json>& rows) {
  if (rows.empty()) return;
  Begin(std::move(columns));
  for (const Json& row : rows) Widen(row);
  Heading();
  for (const Json& row : rows) Row(row);
}

void RowWriter::Begin(std::vector<RowColumn> columns) {
  columns_ = std::move(columns);
  for (RowColumn& column : columns_) column.width = std::max(column.width, column.key.size());
}

void RowWriter::Widen(const Json& row) {
  if (json_) return;
  for (RowColumn& column : columns_) {
    column.width = std::max(column.width, CellOf(row, column.key).size());
  }
}

void RowWriter::Heading() {
  if (json_) return;
  std::vector<std::string> cells;
  for (const RowColumn& column : columns_) cells.push_back(column.key);
  Line(cells);
}

void RowWriter::Row(const Json& row) {
  if (json_) return Object(row);
  std::vector<std::string> cells;
  for (const RowColumn& column : columns_) cells.push_back(CellOf(row, column.key));
  Line(cells);
}

void RowWriter::Line(const std::vector<std::string>& cells) {
  std::vector<std::string> padded;
  for (size_t i = 0; i < cells.size(); ++i) {
    const int width = static_cast<int>(columns_[i].width);
    padded.push_back(absl::StrFormat("%*s", columns_[i].right ? width : -width, cells[i]));
  }
  out_ << absl::StripTrailingAsciiWhitespace(absl::StrJoin(padded, "  ")) << "\n";
}

std::string Grouped(const Json& number) {
  std::string digits = JsonText(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return digits;
}

void TensorTotals::Add(const std::string& dtype, int64_t elements, int64_t bytes_of_tensor) {
  static const auto& kNoParameters = *new std::set<std::string>{
      "int32", "int64", "uint32", "uint64", "bool", "string", "resource", "variant"};
  if (kNoParameters.count(dtype) == 0) AddSaturated(elements, parameters);
  AddSaturated(bytes_of_tensor, bytes);
}

std::string DTypeName(const std::string& enumerator) {
  if (enumerator == "FLOAT") return "float32";
  if (enumerator == "DOUBLE") return "float64";
  if (enumerator == "HALF") return "float16";
  return absl::AsciiStrToLower(enumerator);
}

}  // namespace tpurun
