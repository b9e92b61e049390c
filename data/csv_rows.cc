#include "data/csv_rows.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tpurun {

void CsvRows::Open(std::unique_ptr<ByteSource> source, std::string name, int64_t skip_lines) {
  lines_ = std::make_unique<LineReader>(std::move(source));
  name_ = std::move(name);
  skip_lines_ = skip_lines;
  number_ = 0;
}

std::string CsvRows::Where() const { return absl::StrCat(name_, ":", number_); }

absl::StatusOr<bool> CsvRows::Read() {
  while (true) {
    ++number_;
    std::string_view line;
    const absl::StatusOr<bool> found = lines_->Read(&line);
    if (!found.ok()) return Annotate(found.status(), Where());
    if (!*found) {
      if (number_ > skip_lines_ + 1) return false;
      return absl::DataLossError(absl::StrCat(Where(), ": no data rows"));
    }
    if (number_ <= skip_lines_) {
      RETURN_IF_ERROR(Annotate(CheckLineEnds(line), Where()));
      continue;
    }
    RETURN_IF_ERROR(Annotate(Split(line), Where()));
    return true;
  }
}

absl::Status CsvRows::Split(std::string_view line) {
  const std::string wrong = SplitFields(line, format_, &fields_, &scratch_);
  if (!wrong.empty()) {
    return absl::DataLossError(absl::StrCat("column ", fields_.size() - 1, " (from 0) ", wrong));
  }
  if (columns_ == 0) columns_ = fields_.size();
  if (fields_.size() == columns_) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("got ", fields_.size(), " columns, want ", columns_, " as in the first row"));
}

}  // namespace tpurun
