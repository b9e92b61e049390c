// The rows of files of comma-separated values, which all have as many fields as the first one.
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

  // Goes on with the rows of a file that messages call `name`, behind its first `skip_lines` lines.
  void Open(std::unique_ptr<ByteSource> source, std::string name, int64_t skip_lines);
  // The next row of that file; false at its end. DataLoss where it cannot be split, has another
  // number of fields, or where the file has no rows at all.
  absl::StatusOr<bool> Read();

  // Of the last row, good until the next Read.
  const std::vector<std::string_view>& fields() const { return fields_; }
  // Its place, "a.csv:3".
  std::string Where() const;

 private:
  absl::Status Split(std::string_view line);

  const CsvFormat format_;
  std::unique_ptr<LineReader> lines_;
  std::string name_;
  int64_t skip_lines_ = 0;
  int64_t number_ = 0;  // of the last line, from 1
  std::vector<std::string_view> fields_;
  std::string scratch_;
  size_t columns_ = 0;  // of the first row; 0 before it
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CSV_ROWS_H_
