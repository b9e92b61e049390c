// InspectedTable: what `tpurun init` learns about CSV files, their format and each column.
#ifndef TPURUN_DATA_INIT_CSV_TABLE_H_
#define TPURUN_DATA_INIT_CSV_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/init/column.h"

namespace tpurun {

struct InspectedTable {
  char delim = ',';
  // Lines before the first row of every file: 1 if the first line is not a row, else 0.
  int64_t skip_lines = 0;
  // The column names in the skipped line. Empty if the line has no names.
  std::vector<std::string> titles;
  // From a first line "ROWS,COLUMNS,CLASS,CLASS...", as in the files of TensorFlow's and
  // scikit-learn's examples. The last column of such files is the label.
  std::vector<std::string> class_names;
  int64_t shards = kInitShards;  // the last shard is held out; kNoShards: whole files are held out
  int64_t rows = 0;
  int64_t held_out = 0;  // the number of held-out rows
  std::vector<InspectedColumn> columns;
};

// Reads the first lines of all files, then all files once. The files are one table, with the rows
// in the order of the files. The rows of `eval_files` are held out; if there are any, `shards` is
// kNoShards. NotFound for a path that is not a regular file. DataLoss for a file that is empty, has
// rows of different widths, is compressed, or lacks the columns that the header of the first file
// names.
absl::StatusOr<InspectedTable> InspectCsv(const std::vector<std::string>& files,
                                          const std::vector<std::string>& eval_files = {},
                                          int64_t shards = kInitShards);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_CSV_TABLE_H_
