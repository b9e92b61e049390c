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
  int64_t shards = kInitShards;  // of which the last is held out
  int64_t rows = 0;
  std::vector<InspectedColumn> columns;
};

// Reads all of the files once, and the first lines of the first one before; they are one table, its
// rows in the order of the files. NotFound for what is no regular file, DataLoss for one that is
// empty, not of one width, compressed, or without the header of the first.
absl::StatusOr<InspectedTable> InspectCsv(const std::vector<std::string>& files,
                                          int64_t shards = kInitShards);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_CSV_TABLE_H_
