#include "data/table.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/names.h"
#include "runtime/spec/dtypes.h"

namespace tpurun {

int64_t ColumnType::elements() const {
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
  return absl::StrCat(proto::DataType_Name(dtype), " ", DimsToString(dims));
}

int FindColumn(const Schema& schema, std::string_view name) {
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name == name) return static_cast<int>(i);
  }
  return -1;
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
    const int64_t elements = type.elements();
    for (int64_t i = 0; i < elements; ++i) AppendString(other.string(row * elements + i));
    return;
  }
  const int64_t row_bytes = type.row_bytes();
  bytes.Append(other.bytes.data() + row * row_bytes, row_bytes);
}

void Column::Clear() {
  bytes.clear();
  chars.clear();
  strings.clear();
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
    bytes +=
        column.bytes.size() + column.chars.size() + column.strings.size() * sizeof(Column::String);
  }
  return static_cast<int64_t>(bytes);
}

void Table::Append(const Table& other) {
  for (Column& column : columns) {
    const Column& from = other.columns[other.Find(column.type.name)];
    if (column.type.dtype == proto::STRING) {
      for (size_t i = 0; i < from.strings.size(); ++i) column.AppendString(from.string(i));
    } else {
      column.bytes.Append(from.bytes.data(), from.bytes.size());
    }
  }
  rows += other.rows;
}

}  // namespace tpurun
