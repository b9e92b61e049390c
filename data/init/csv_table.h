// What `tpurun init` learns about CSV files: how they are written, and each column.
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
  // Lines before the first row of every file: 1 where the first line is not one.
  int64_t skip_lines = 0;
  // What that line calls the columns; empty where it does not.
  std::vector<std::string> titles;
  // Of a line "ROWS,COLUMNS,CLASS,CLASS..." as in the files of TensorFlow's and scikit-learn's
  // examples, whose last column is the label.
  std::vector<std::string> class_names;
  int64_t shards = kInitShards;  // of which the last is held out; kNoShards: the rows of files
  int64_t rows = 0;
  int64_t held_out = 0;  // of rows
  std::vector<InspectedColumn> columns;
};

// Reads all of the files once, and their first lines before; they are one table, its rows in the
// order of the files. The rows of `eval_files` are held out; where there are any, `shards` is
// kNoShards. NotFound for what is no regular file, DataLoss for one that is empty, not of one
// width, compressed, or without the columns that the header of the first names.
absl::StatusOr<InspectedTable> InspectCsv(const std::vector<std::string>& files,
                                          const std::vector<std::string>& eval_files = {},
                                          int64_t shards = kInitShards);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_CSV_TABLE_H_
