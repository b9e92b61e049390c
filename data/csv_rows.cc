#include "data/csv_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// Far more than texts have: a quote that is never closed takes no more memory.
constexpr size_t kMostRowBytes = 64 << 20;

}  // namespace

void CsvRows::Open(std::unique_ptr<ByteSource> source, std::string name, int64_t skip_lines) {
  lines_ = std::make_unique<LineReader>(std::move(source));
  name_ = std::move(name);
  skip_lines_ = skip_lines;
  number_ = 0;
  lines_of_row_ = 1;
  has_rows_ = false;
}

std::string CsvRows::Where() const { return absl::StrCat(name_, ":", number_); }

absl::StatusOr<bool> CsvRows::Read() {
  while (true) {
    number_ += lines_of_row_;
    lines_of_row_ = 1;
    std::string_view line;
    const absl::StatusOr<bool> found = lines_->Read(&line);
    if (!found.ok()) return Annotate(found.status(), Where());
    if (!*found) {
      if (has_rows_) return false;
      return absl::DataLossError(absl::StrCat(Where(), ": no data rows"));
    }
    if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (number_ <= skip_lines_) {
      RETURN_IF_ERROR(Annotate(CheckLineEnds(line), Where()));
      continue;
    }
    if (IsBlankLine(line)) continue;
    has_rows_ = true;
    if (format_.line_breaks) RETURN_IF_ERROR(Annotate(AddLines(&line), Where()));
    RETURN_IF_ERROR(Annotate(Split(line), Where()));
    return true;
  }
}

absl::Status CsvRows::AddLines(std::string_view* row) {
  // Where a quote is open, their number is odd.
  bool open = std::count(row->begin(), row->end(), '"') % 2 == 1;
  if (!open) return absl::OkStatus();
  row_ = *row;
  while (open) {
    const char* const line_break = lines_->ended_with_cr_lf() ? "\r\n" : "\n";
    std::string_view line;
    ASSIGN_OR_RETURN(const bool found, lines_->Read(&line));
    if (!found) break;
    ++lines_of_row_;
    row_.append(line_break).append(line);
    if (row_.size() > kMostRowBytes) {
      return absl::DataLossError(
          absl::StrCat("has a quote that is not closed within ", kMostRowBytes, " bytes"));
    }
    open = std::count(line.begin(), line.end(), '"') % 2 == 0;
  }
  *row = row_;
  return absl::OkStatus();
}

absl::Status CsvRows::Split(std::string_view row) {
  const std::string wrong = SplitFields(row, format_, &fields_, &scratch_);
  if (!wrong.empty()) {
    return absl::DataLossError(absl::StrCat("column ", fields_.size() - 1, " (from 0) ", wrong));
  }
  if (columns_ == 0) columns_ = fields_.size();
  if (fields_.size() == columns_) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("got ", fields_.size(), " columns, want ", columns_, " as in the first row"));
}

}  // namespace tpurun
