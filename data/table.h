// Rows stored column by column. Decoders read and write Tables, `cache` keeps them, and batches are
// gathered from them.
#ifndef TPURUN_DATA_TABLE_H_
#define TPURUN_DATA_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "data/bytes.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/shape.h"

namespace tpurun {

// A dimension that differs between rows: the height of decoded images, the number of words.
inline constexpr int64_t kVaries = -1;

// Name and type of a feature in the input. `dims` are the dimensions of one row, each > 0 or
// kVaries.
struct ColumnType {
  std::string name;
  proto::DataType dtype = proto::FLOAT32;
  std::vector<int64_t> dims;

  bool varies() const;
  // Elements of one row. `dims` must not vary.
  int64_t elements() const;
  // True for a list of any length: one dimension, which varies.
  bool is_list() const { return dims.size() == 1 && varies(); }
  // Bytes of one row; 0 for STRING, whose rows differ in size. `dims` must not vary.
  int64_t row_bytes() const;
  // "FLOAT32 [28,28,1]", "UINT8 [?,?,3]".
  std::string ToString() const;
};

// The most elements in one row: a record, a protobuf of at most 2 GiB, cannot sensibly hold more.
inline constexpr int64_t kMaxRowElements = int64_t{1} << 28;

// True if a column may have these dimensions: each is at least 1, and a row has at most
// kMaxRowElements elements. Adds mistakes to `errors` under `field`.
bool CheckDims(const std::vector<int64_t>& dims, const ConfigPlace& place, const std::string& field,
               ConfigErrors& errors);
// True if a column may have this name. Adds mistakes to `errors` under `field`.
bool CheckColumnName(const std::string& name, const ConfigPlace& place, const std::string& field,
                     ConfigErrors& errors);

using Schema = std::vector<ColumnType>;

// The column that a source of records produces.
inline constexpr char kRecord[] = "record";
// The column beside it, if each file is a record: the name of the file.
inline constexpr char kFile[] = "file";
// The columns that a source of lines produces: the line, and the line before the rows of its file.
// The latter is the header with the column names, or a line that is only skipped.
inline constexpr char kLine[] = "line";
inline constexpr char kHeader[] = "header";
inline constexpr char kSkippedLine[] = "skipped_line";

// The index of the column of that name, or -1 if there is none.
int FindColumn(const Schema& schema, std::string_view name);
// The same for a feature that a transform reads. Adds a mistake to `errors` if there is none.
int FindFeature(const Schema& schema, const std::string& name, const std::string& path,
                ConfigErrors& errors);
// Replaces the column of that name, or adds it.
void PutColumn(const ColumnType& column, Schema* schema);
std::vector<std::string> ColumnNames(const Schema& schema);

// Bytes of one element; 0 for STRING.
int64_t ElementBytes(proto::DataType dtype);
proto::DataType FromDType(DType dtype);
// The element type in an exported graph. nullopt for a type that exported graphs do not have.
std::optional<ElementType> ExportedType(proto::DataType dtype);

// The values of one feature. Numbers are stored row after row in `bytes`. The strings of a STRING
// column are stored in `chars`, or are views of memory that outlives the column's use. If the
// dimensions vary, `row_dims` has those of each row, one row after the other, and `row_ends` the
// end of each row in `bytes`, of a STRING column in `strings`.
struct Column {
  struct String {
    const char* text = nullptr;  // nullptr if the string is in `chars`
    int64_t begin = 0;           // offset in `chars`
    int64_t size = 0;
  };

  ColumnType type;
  Bytes bytes;
  std::string chars;
  std::vector<String> strings;
  std::vector<int64_t> row_dims = {};
  std::vector<int64_t> row_ends = {};

  template <typename T>
  std::span<T> values() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  std::string_view string(int64_t index) const {
    const String& string = strings[index];
    const char* const text = string.text == nullptr ? chars.data() + string.begin : string.text;
    return {text, static_cast<size_t>(string.size)};
  }
  void AppendString(std::string_view text) {
    strings.push_back({nullptr, static_cast<int64_t>(chars.size()), std::ssize(text)});
    chars.append(text);
  }
  // The text must stay valid as long as the column is read.
  static String ViewOf(std::string_view text) { return {text.data(), 0, std::ssize(text)}; }
  void AppendView(std::string_view text) { strings.push_back(ViewOf(text)); }
  // The same in the place of a string that is there.
  void SetView(int64_t index, std::string_view text) { strings[index] = ViewOf(text); }
  // The dimensions of row `row`.
  std::span<const int64_t> DimsOf(int64_t row) const {
    if (row_ends.empty()) return type.dims;
    return std::span(row_dims).subspan(row * type.dims.size(), type.dims.size());
  }
  // The elements of row `row` among those of all rows: from `begin` to before `end`.
  struct Elements {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Elements ElementsOf(int64_t row) const;
  // The bytes of row `row`. Not of a STRING column.
  std::span<const std::byte> BytesOf(int64_t row) const;
  std::span<std::byte> BytesOf(int64_t row);
  // The row that has element `element` of all rows.
  int64_t RowOf(int64_t element) const;
  // Appends a row of numbers of these dimensions, which fit `type`, and returns its bytes. They are
  // not initialized. Invalidates those of other rows.
  std::byte* AddRow(std::span<const int64_t> dims);
  // Makes a row of the strings that were appended since the last row. The type is a list of STRING.
  void EndList();
  // Takes the dimensions of the rows of `other`, whose type has as many.
  void TakeRowDims(const Column& other);
  // Appends row `row` of a column of the same type.
  void AppendRow(const Column& other, int64_t row);
  // The same. Strings are views of those of `other`.
  void AppendRowView(const Column& other, int64_t row);
  // Swaps the values of two columns; the types stay.
  void SwapValues(Column& other) {
    std::swap(bytes, other.bytes);
    chars.swap(other.chars);
    strings.swap(other.strings);
    row_dims.swap(other.row_dims);
    row_ends.swap(other.row_ends);
  }
  // Removes the values and keeps the capacity.
  void Clear();
};

struct Table {
  int64_t rows = 0;
  std::vector<Column> columns;

  // The index of the column of that name, or -1 if there is none.
  int Find(std::string_view name) const;
  Column& column(std::string_view name) { return columns[Find(name)]; }
  const Column& column(std::string_view name) const { return columns[Find(name)]; }
  // Bytes of all values.
  int64_t bytes() const;
  // Appends the rows of a table that has at least the columns of this one.
  void Append(const Table& other);
};

// A table of these columns without rows.
Table EmptyTable(const Schema& schema);

// Copies rows of a numeric column, which all have the same size, to `out`, one after the other.
template <typename Rows>  // a range of elements with a member `id`, the row
void GatherRows(const Column& column, const Rows& rows, std::byte* out) {
  const int64_t row_bytes = column.type.row_bytes();
  const std::byte* const from = column.bytes.data();
  const auto copy = [&](auto bytes) {  // a constant size becomes one load and one store
    for (const auto& row : rows) {
      __builtin_memcpy(out, from + row.id * bytes, bytes);
      out += bytes;
    }
  };
  if (row_bytes == 4) return copy(std::integral_constant<int64_t, 4>());
  if (row_bytes == 8) return copy(std::integral_constant<int64_t, 8>());
  copy(row_bytes);
}

}  // namespace tpurun

#endif  // TPURUN_DATA_TABLE_H_
