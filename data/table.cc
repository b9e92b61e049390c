#include "data/table.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/names.h"
#include "runtime/base/text.h"
#include "runtime/spec/dtypes.h"

namespace tpurun {
namespace {

// What an element adds to Column::row_ends.
int64_t UnitOfEnds(proto::DataType dtype) {
  return dtype == proto::STRING ? 1 : ElementBytes(dtype);
}

}  // namespace

bool ColumnType::varies() const {
  return std::find(dims.begin(), dims.end(), kVaries) != dims.end();
}

int64_t ColumnType::elements() const {
  TPURUN_DCHECK(!varies());
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

bool CheckDims(const std::vector<int64_t>& dims, const ConfigPlace& place, const std::string& field,
               ConfigErrors& errors) {
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim < 1) {
      errors.Add(place, field, absl::StrCat("every dimension of shape must be > 0, got ", dim));
      return false;
    }
    if (__builtin_mul_overflow(elements, dim, &elements) || elements > kMaxRowElements) {
      errors.Add(place, field,
                 absl::StrCat("shape ", DimsToString(dims), " has more than 2^28 values"));
      return false;
    }
  }
  return true;
}

bool CheckColumnName(const std::string& name, const ConfigPlace& place, const std::string& field,
                     ConfigErrors& errors) {
  const absl::Status checked = CheckName(NameKind::kKey, name);
  if (!checked.ok()) errors.Add(place, field, std::string(checked.message()));
  return checked.ok();
}

int64_t ColumnType::row_bytes() const { return elements() * ElementBytes(dtype); }

std::string ColumnType::ToString() const {
  std::string text = DimsToString(dims);
  return absl::StrCat(proto::DataType_Name(dtype), " ", absl::StrReplaceAll(text, {{"-1", "?"}}));
}

int FindColumn(const Schema& schema, std::string_view name) {
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int FindFeature(const Schema& schema, const std::string& name, const std::string& path,
                ConfigErrors& errors) {
  const int index = FindColumn(schema, name);
  if (index < 0) {
    errors.Add(
        path, absl::StrCat("unknown feature ", Quote(name), DidYouMean(name, ColumnNames(schema))));
  }
  return index;
}

void PutColumn(const ColumnType& column, Schema* schema) {
  const int place = FindColumn(*schema, column.name);
  if (place >= 0) {
    (*schema)[place] = column;
  } else {
    schema->push_back(column);
  }
}

std::vector<std::string> ColumnNames(const Schema& schema) {
  std::vector<std::string> names;
  for (const ColumnType& type : schema) names.push_back(type.name);
  return names;
}

std::optional<ElementType> ExportedType(proto::DataType dtype) {
  if (dtype == proto::STRING) return ElementType::kString;
  const std::optional<DType> type = ToDType(dtype);
  return type.has_value() ? std::optional(ElementTypeOf(*type)) : std::nullopt;
}

proto::DataType FromDType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return proto::FLOAT32;
    case DType::kBF16:
      return proto::BFLOAT16;
    case DType::kS32:
      return proto::INT32;
    case DType::kS64:
      return proto::INT64;
    case DType::kU8:
      return proto::UINT8;
    case DType::kU32:
      return proto::UINT32;
    case DType::kPred:
      return proto::BOOL;
    case DType::kC64:
      return proto::COMPLEX64;
  }
  return proto::DT_INVALID;
}

int64_t ElementBytes(proto::DataType dtype) {
  const std::optional<DType> device_type = ToDType(dtype);
  return device_type.has_value() ? ByteSize(*device_type) : 0;
}

void Column::AppendRow(const Column& other, int64_t row) {
  if (type.dtype == proto::STRING) {
    const auto [begin, end] = other.ElementsOf(row);
    for (int64_t i = begin; i < end; ++i) AppendString(other.string(i));
    if (type.varies()) EndList();
    return;
  }
  const std::span<const std::byte> from = other.BytesOf(row);
  std::memcpy(AddRow(other.DimsOf(row)), from.data(), from.size());
}

void Column::AppendRowView(const Column& other, int64_t row) {
  if (type.dtype != proto::STRING) return AppendRow(other, row);
  const auto [begin, end] = other.ElementsOf(row);
  for (int64_t i = begin; i < end; ++i) AppendView(other.string(i));
  if (type.varies()) EndList();
}

Column::Elements Column::ElementsOf(int64_t row) const {
  if (row_ends.empty()) {
    const int64_t elements = type.elements();
    return {row * elements, (row + 1) * elements};
  }
  const int64_t unit = UnitOfEnds(type.dtype);
  return {row == 0 ? 0 : row_ends[row - 1] / unit, row_ends[row] / unit};
}

std::span<const std::byte> Column::BytesOf(int64_t row) const {
  if (row_ends.empty())
    return {bytes.data() + row * type.row_bytes(), static_cast<size_t>(type.row_bytes())};
  const int64_t begin = row == 0 ? 0 : row_ends[row - 1];
  return {bytes.data() + begin, static_cast<size_t>(row_ends[row] - begin)};
}

std::span<std::byte> Column::BytesOf(int64_t row) {
  const std::span<const std::byte> of_row = static_cast<const Column*>(this)->BytesOf(row);
  return {bytes.data() + (of_row.data() - bytes.data()), of_row.size()};
}

int64_t Column::RowOf(int64_t element) const {
  if (row_ends.empty()) return element / type.elements();
  const int64_t place = element * UnitOfEnds(type.dtype);
  return std::upper_bound(row_ends.begin(), row_ends.end(), place) - row_ends.begin();
}

std::byte* Column::AddRow(std::span<const int64_t> dims) {
  TPURUN_DCHECK(dims.size() == type.dims.size());
  int64_t size = ElementBytes(type.dtype);
  for (const int64_t dim : dims) size *= dim;
  const size_t begin = bytes.size();
  bytes.resize(begin + size);
  if (type.varies()) {
    row_dims.insert(row_dims.end(), dims.begin(), dims.end());
    row_ends.push_back(static_cast<int64_t>(begin) + size);
  }
  return bytes.data() + begin;
}

void Column::TakeRowDims(const Column& other) {
  row_dims = other.row_dims;
  row_ends = other.row_ends;
  const int64_t from = UnitOfEnds(other.type.dtype), to = UnitOfEnds(type.dtype);
  for (int64_t& end : row_ends) end = end / from * to;
}

void Column::EndList() {
  const int64_t begin = row_ends.empty() ? 0 : row_ends.back();
  row_ends.push_back(std::ssize(strings));
  row_dims.push_back(row_ends.back() - begin);
}

void Column::Clear() {
  bytes.clear();
  chars.clear();
  strings.clear();
  row_dims.clear();
  row_ends.clear();
}

Table EmptyTable(const Schema& schema) {
  Table table;
  for (const ColumnType& type : schema) table.columns.push_back({.type = type});
  return table;
}

int Table::Find(std::string_view name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type.name == name) return static_cast<int>(i);
  }
  return -1;
}

int64_t Table::bytes() const {
  size_t bytes = 0;
  for (const Column& column : columns) {
    bytes += column.bytes.size() + column.chars.size() +
             column.strings.size() * sizeof(Column::String) +
             (column.row_dims.size() + column.row_ends.size()) * sizeof(int64_t);
  }
  return static_cast<int64_t>(bytes);
}

void Table::Append(const Table& other) {
  for (Column& column : columns) {
    const Column& from = other.columns[other.Find(column.type.name)];
    if (column.type.varies()) {
      for (int64_t row = 0; row < other.rows; ++row) column.AppendRow(from, row);
    } else if (column.type.dtype == proto::STRING) {
      for (size_t i = 0; i < from.strings.size(); ++i) column.AppendString(from.string(i));
    } else {
      column.bytes.Append(from.bytes.data(), from.bytes.size());
    }
  }
  rows += other.rows;
}

}  // namespace tpurun
