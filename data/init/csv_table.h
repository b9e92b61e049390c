// InspectedTable: what `tpurun init` learns about CSV files or files of JSON lines, their format
// and each column.
#ifndef TPURUN_DATA_INIT_CSV_TABLE_H_
#define TPURUN_DATA_INIT_CSV_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/init/column.h"
#include "data/init/column_format.h"
#include "data/init/text_words.h"
#include "data/init/time_steps.h"

namespace tpurun {

inline constexpr int64_t kMostScaledElements = 1024;

// A column of arrays of numbers, of one shape.
struct InspectedArray {
  std::vector<int64_t> shape;
  NumberStatistics all, train;  // of the elements of all arrays
  // Of each element, in the training part; empty if the arrays have several dimensions, as images
  // have, or more than kMostScaledElements elements.
  std::vector<NumberStatistics> elements;
  int64_t missing = 0;  // examples without an array, or with null in one
  std::string wrong;    // why the arrays are no feature; empty: they are
};

struct InspectedTable {
  // True: a row is a JSON object, and the titles are the keys of its members, or JSON Pointers to
  // nested ones.
  bool is_json = false;
  char delim = ',';
  // Lines before the first row of every file: 0 if the first line that is not blank is a row, else
  // its number.
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
  // By the index of their column, those of whose texts all but missing ones are numbers or times in
  // a format.
  std::map<size_t, FormattedColumn> formatted;
  // The same for what was assumed of numbers in C notation, which could be others.
  std::map<size_t, std::string> assumptions;
  // The same for the columns that ChooseTexts chose.
  std::map<size_t, TextWords> texts;
  // The same for arrays. Nothing else is known of their columns.
  std::map<size_t, InspectedArray> arrays;
  // Of a series: the same for the times.
  std::map<size_t, TimeSteps> times;
};

// Chooses the columns of a table whose words are counted, when all else is known of it.
using ChooseTexts = std::function<absl::StatusOr<std::set<size_t>>(const InspectedTable& table)>;

// Adds the columns that `choose_texts` chooses, without words yet. nullptr chooses none.
absl::Status AddChosenTexts(const ChooseTexts& choose_texts, InspectedTable& table);

// Calls read(file) for the files of a table, first for those to train on, then for those that are
// held out, with *holds_out set accordingly. Stops at the first error.
absl::Status ReadInTurn(const std::vector<std::string>& files,
                        const std::vector<std::string>& eval_files, bool* holds_out,
                        const std::function<absl::Status(const std::string& file)>& read);

// Reads the first lines of all files, then all files once, and again if columns have
// formatted values or are texts (without choose_texts none are). The files are one table, with the
// rows in the order of the files. The rows of `eval_files` are held out; if there are any, `shards`
// is kNoShards. NotFound for a path that is not a regular file. DataLoss for a file that is empty,
// has rows of different widths, is compressed, or lacks the columns that the header of the first
// file names. `delimiter` separates the columns; nullopt: what the first line says.
absl::StatusOr<InspectedTable> InspectCsv(const std::vector<std::string>& files,
                                          const std::vector<std::string>& eval_files = {},
                                          int64_t shards = kInitShards,
                                          const ChooseTexts& choose_texts = nullptr,
                                          std::optional<char> delimiter = std::nullopt);

// The same for a time series, whose rows are in the order of time: the last tenth of them is held
// out, and `shards` is kNoShards. Reads the files twice as often.
absl::StatusOr<InspectedTable> InspectSeries(const std::vector<std::string>& files,
                                             std::optional<char> delimiter = std::nullopt);

}  // namespace tpurun

#endif  // TPURUN_DATA_INIT_CSV_TABLE_H_
