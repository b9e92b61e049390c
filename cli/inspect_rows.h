// Rows as `inspect` shows them: a table, or an object a line.
#ifndef TPURUN_CLI_INSPECT_ROWS_H_
#define TPURUN_CLI_INSPECT_ROWS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.h"

namespace tpurun {

struct RowColumn {
  std::string key;     // its heading, and the cell's key in the rows
  bool right = false;  // cells stand at the right: numbers
  size_t width = 0;    // characters, at least the heading's
};

// Rows are objects. In JSON each is a line. In text they stand in columns, of which a row may lack
// some: strings as they are but escaped, null as "-", lists as "[1,2]".
class RowWriter {
 public:
  // `out` must outlive it.
  RowWriter(bool json, std::ostream& out) : json_(json), out_(out) {}

  // A line of the text; nothing in JSON. What of it comes from files is escaped already.
  void Title(std::string_view text);
  // A line of the JSON; nothing in text.
  void Object(const Json& object);
  // The whole table; nothing when it has no rows.
  void Table(std::vector<RowColumn> columns, const std::vector<Json>& rows);

  // A table row by row: Begin, Widen by all rows that will come, Heading, each Row.
  void Begin(std::vector<RowColumn> columns);
  void Widen(const Json& row);
  void Heading();
  void Row(const Json& row);

 private:
  void Line(const std::vector<std::string>& cells);

  const bool json_;
  std::ostream& out_;
  std::vector<RowColumn> columns_;
};

// What tensors amount to, saturated at 2^63 - 1.
struct TensorTotals {
  int64_t parameters = 0;
  int64_t bytes = 0;

  // `dtype` as DTypeName has it. Integers of 32 and 64 bits, booleans and strings count, index and
  // name things: they are no parameters.
  void Add(const std::string& dtype, int64_t elements, int64_t bytes_of_tensor);
};

// TensorFlow's Python name of an element type whose enumerator is "FLOAT", "INT64", ...: float32,
// int64, bool.
std::string DTypeName(const std::string& enumerator);

}  // namespace tpurun

#endif  // TPURUN_CLI_INSPECT_ROWS_H_
