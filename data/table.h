// Rows column by column: what decoders read and write, what `cache` keeps and batches are gathered
// from.
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

// A feature as the input has it; dims are one row's.
struct ColumnType {
  std::string name;
  proto::DataType dtype = proto::FLOAT32;
  std::vector<int64_t> dims;

  int64_t elements() const;
  // Bytes of one row; 0 for STRING, whose rows differ.
  int64_t row_bytes() const;
  // "FLOAT32 [28,28,1]".
  std::string ToString() const;
};

// Beyond what a record, a protobuf of 2 GiB, can sensibly hold.
inline constexpr int64_t kMaxRowElements = int64_t{1} << 28;

// Whether a column may have the dimensions: each is at least 1, a row has at most kMaxRowElements.
// What is wrong is added at the field.
bool CheckDims(const std::vector<int64_t>& dims, const ConfigPlace& place, const std::string& field,
               ConfigErrors& errors);
// Whether a column may have the name.
bool CheckColumnName(const std::string& name, const ConfigPlace& place, const std::string& field,
                     ConfigErrors& errors);

using Schema = std::vector<ColumnType>;

// The column that a source of records makes.
inline constexpr char kRecord[] = "record";
// Those of a source of lines: a line, and the line ahead of the rows of its file, which names their
// columns or is only skipped.
inline constexpr char kLine[] = "line";
inline constexpr char kHeader[] = "header";
inline constexpr char kSkippedLine[] = "skipped_line";

// The index of the column of that name, -1 when there is none.
int FindColumn(const Schema& schema, std::string_view name);
std::vector<std::string> ColumnNames(const Schema& schema);

// Bytes of one element; 0 for STRING.
int64_t ElementBytes(proto::DataType dtype);
proto::DataType FromDType(DType dtype);
// In an exported graph; nullopt for a type that those do not have.
std::optional<ElementType> ExportedType(proto::DataType dtype);

// The values of one feature. Numbers lie row after row in `bytes`. The strings of a STRING column
// are held in `chars`, or are views of what outlives them.
struct Column {
  struct String {
    const char* text = nullptr;  // null: it lies in `chars`
    int64_t begin = 0;           // in `chars`
    int64_t size = 0;
  };

  ColumnType type;
  Bytes bytes;
  std::string chars;
  std::vector<String> strings;

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
  // The text must stay where it is as long as the column is read.
  void AppendView(std::string_view text) { strings.push_back({text.data(), 0, std::ssize(text)}); }
  // Appends row `row` of a column of the same type.
  void AppendRow(const Column& other, int64_t row);
  // Exchanges all but the types.
  void SwapValues(Column& other) {
    std::swap(bytes, other.bytes);
    chars.swap(other.chars);
    strings.swap(other.strings);
  }
  // Keeps the capacity.
  void Clear();
};

struct Table {
  int64_t rows = 0;
  std::vector<Column> columns;

  // The index of the column of that name, -1 when there is none.
  int Find(std::string_view name) const;
  Column& column(std::string_view name) { return columns[Find(name)]; }
  const Column& column(std::string_view name) const { return columns[Find(name)]; }
  // Of all values.
  int64_t bytes() const;
  // Appends the rows of a table that has (at least) the columns of this one.
  void Append(const Table& other);
};

// Copies rows of a numeric column to `out`, one after the other.
template <typename Rows>  // a range of things whose .id is a row
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
