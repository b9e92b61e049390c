// CsvRows: reads the rows of CSV files, which must all have as many fields as the first row. A row
// is a line or, with CsvFormat::line_breaks, the lines that quotes hold together. Blank lines
// between rows are no rows.
#ifndef TPURUN_DATA_CSV_ROWS_H_
#define TPURUN_DATA_CSV_ROWS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/csv.h"
#include "data/line_reader.h"
#include "runtime/io/file.h"

namespace tpurun {

class CsvRows {
 public:
  explicit CsvRows(CsvFormat format) : format_(std::move(format)) {}

  // Continues with the rows of `source`, after its first `skip_lines` lines. Messages call the file
  // `name`.
  void Open(std::unique_ptr<ByteSource> source, std::string name, int64_t skip_lines);
  // Reads the next row of that file: its lines, a line break between two ("\n", also where the file
  // has "\r\n"). False at its end. DataLoss if the row cannot be split or has
  // another number of fields, or if the file has no rows.
  absl::StatusOr<bool> Read();

  // The fields of the last row, valid until the next Read.
  const std::vector<std::string_view>& fields() const { return fields_; }
  // The place of the last row, "a.csv:3": its first line.
  std::string Where() const;

 private:
  // Adds lines to the row until its quotes are closed or the file ends.
  absl::Status AddLines(std::string_view* row);
  absl::Status Split(std::string_view row);

  const CsvFormat format_;
  std::unique_ptr<LineReader> lines_;
  std::string name_;
  int64_t skip_lines_ = 0;
  int64_t number_ = 0;  // number of the first line of the last row, from 1
  int64_t lines_of_row_ = 0;
  bool has_rows_ = false;  // of the file
  std::string row_;        // the last row, if it has several lines
  std::vector<std::string_view> fields_;
  std::string scratch_;
  size_t columns_ = 0;  // fields of the first row; 0 before it is read
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CSV_ROWS_H_
