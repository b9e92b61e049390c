// The output rows of `inspect`, as a table or as one JSON object a line.
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
  std::string key;     // the heading, and the key of the cell in the rows
  bool right = false;  // right-aligned, for numbers
  size_t width = 0;    // in characters, at least the heading's
};

// Writes rows, which are JSON objects. In JSON each row is a line. In text the cells are in
// columns, and a row may lack some: strings are escaped but not quoted, null is "-", and lists are
// "[1,2]".
class RowWriter {
 public:
  // `out` must outlive it.
  RowWriter(bool json, std::ostream& out) : json_(json), out_(out) {}

  // Writes a line of text; nothing in JSON. The caller has escaped the parts that come from files.
  void Title(std::string_view text);
  // Writes a line of JSON; nothing in text.
  void Object(const Json& object);
  // Writes the whole table; nothing if there are no rows.
  void Table(std::vector<RowColumn> columns, const std::vector<Json>& rows);

  // Writes a table row by row. Call Begin, Widen for all rows that will follow, Heading, then Row
  // for each.
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

// 18816 is 18,816.
std::string Grouped(const Json& number);

// Totals of tensors, saturated at 2^63 - 1.
struct TensorTotals {
  int64_t parameters = 0;
  int64_t bytes = 0;

  // `dtype` as DTypeName returns it. Tensors of 32 and 64 bit integers, booleans and strings are
  // counters, indices or names, so they are not counted as parameters.
  void Add(const std::string& dtype, int64_t elements, int64_t bytes_of_tensor);
};

// TensorFlow's Python name of an element type whose enumerator is "FLOAT", "INT64", ...: float32,
// int64, bool.
std::string DTypeName(const std::string& enumerator);

}  // namespace tpurun

#endif  // TPURUN_CLI_INSPECT_ROWS_H_
