#include "runtime/report/text_report.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Runs beyond the letters share '*'.
char Label(size_t run) {
  constexpr std::string_view kLabels = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return run < kLabels.size() ? kLabels[run] : '*';
}

// Characters of UTF-8, each taken for one column.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The value of a long field ends in "...".
std::string Cell(const std::string& value) {
  constexpr size_t kMaxColumns = 40;
  if (value.empty()) return "-";
  std::string text = Escape(value);
  if (Columns(text) <= kMaxColumns) return text;
  while (Columns(text) > kMaxColumns - 3 || (text.back() & 0xc0) == 0x80) text.pop_back();
  return text + "...";
}

// A column of the table, ready to be printed.
struct TextColumn {
  std::vector<std::string> cells;  // the heading first
  size_t width = 0;
  bool is_number = true;  // stands on the right
};

// The names of runs, in the first column, are whole.
TextColumn MakeColumn(const ReportTable& table, size_t index) {
  TextColumn column = {.cells = {Escape(table.columns[index])}};
  for (const auto& row : table.rows) {
    const std::string& cell = row[index];
    column.cells.push_back(index == 0 ? Escape(cell) : Cell(cell));
    if (!cell.empty() && !ParseDouble(cell)) column.is_number = false;
  }
  for (const std::string& cell : column.cells) {
    column.width = std::max(column.width, Columns(cell));
  }
  return column;
}

std::string AlignedText(const std::vector<const TextColumn*>& columns) {
  std::string text;
  for (size_t row = 0; row < columns.front()->cells.size(); ++row) {
    std::string line;
    for (const TextColumn* column : columns) {
      const std::string& cell = column->cells[row];
      const std::string pad(column->width - Columns(cell), ' ');
      if (column != columns.front()) absl::StrAppend(&line, "  ");
      absl::StrAppend(&line, column->is_number ? pad : "", cell, column->is_number ? "" : pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

// The first column, the run, stands in each part of the table. In front of it is a mark, if any.
std::string TableText(const ReportTable& table, size_t width,
                      const std::vector<std::string>& marks = {}) {
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) columns.push_back(MakeColumn(table, i));
  for (size_t line = 0; line < marks.size(); ++line) {
    columns.front().cells[line] = marks[line] + columns.front().cells[line];
    columns.front().width = std::max(columns.front().width, Columns(columns.front().cells[line]));
  }
  columns.front().is_number = false;
  std::string text;
  for (size_t next = 1; next < columns.size();) {
    std::vector<const TextColumn*> part = {&columns.front()};
    size_t used = columns.front().width;
    do {
      used += 2 + columns[next].width;
      part.push_back(&columns[next++]);
    } while (next < columns.size() && used + 2 + columns[next].width <= width);
    absl::StrAppend(&text, text.empty() ? "" : "\n", AlignedText(part));
  }
  return text;
}

// The table of the report. A star is in front of the best run, if it is sorted.
std::string ResultsText(const Report& report, size_t width) {
  if (!report.order.has_value()) return TableText(report.table, width);
  std::vector<std::string> marks(report.table.rows.size() + 1, "  ");
  if (const std::optional<size_t> best = BestRow(report)) marks[*best + 1] = "* ";
  const bool higher = report.order->mode == MetricMode::kMax;
  return absl::StrCat("Sorted by ", Escape(report.columns[report.order->column].key), ", the ",
                      higher ? "highest" : "lowest", " first:\n",
                      TableText(report.table, width, marks));
}

// The forecasts side by side, and why there are none of the other runs.
std::string ForecastsText(const Report& report, size_t width) {
  std::string text = absl::StrCat("\n", report.forecasts_title, "\n");
  if (!report.forecasts.rows.empty()) absl::StrAppend(&text, TableText(report.forecasts, width));
  for (const ReportRun& run : report.runs) {
    if (!run.forecast.has_value() || run.forecast->error.empty()) continue;
    absl::StrAppend(&text, Escape(run.folder.training), ": no forecast:\n");
    for (const absl::string_view line : absl::StrSplit(run.forecast->error, '\n')) {
      absl::StrAppend(&text, "  ", Escape({line.data(), line.size()}), "\n");
    }
  }
  return text;
}

}  // namespace

std::string TextReport(const Report& report, int width) {
  std::string text;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    absl::StrAppend(&text, std::string(1, Label(run)), "  ", Escape(report.runs[run].folder.name),
                    "\n");
  }
  for (const auto& [tag, runs] : RunsByScalar(report)) {
    std::vector<TextCurve> curves;
    for (const size_t run : runs) {
      curves.push_back({.label = Label(run), .points = report.runs[run].events.scalars.at(tag)});
    }
    absl::StrAppend(&text, "\n", Escape(tag), "\n", TextChart(curves, width));
  }
  absl::StrAppend(&text, "\n", ResultsText(report, static_cast<size_t>(width)));
  if (!report.forecasts_title.empty()) {
    absl::StrAppend(&text, ForecastsText(report, static_cast<size_t>(width)));
  }
  return text;
}

}  // namespace tpurun
