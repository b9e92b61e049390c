// `inspect` of a checkpoint: one row a tensor, in name order.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/inspect.h"
#include "cli/json.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

using tensorflow::DataType;

// TensorFlow's Python names: float32, int64, bool ...
std::string DTypeName(DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_FLOAT:
      return "float32";
    case tensorflow::DT_DOUBLE:
      return "float64";
    case tensorflow::DT_HALF:
      return "float16";
    default:
      break;
  }
  if (!tensorflow::DataType_IsValid(dtype)) return absl::StrCat("dtype ", dtype);
  const std::string name = tensorflow::DataType_Name(dtype);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "DT_"));
}

template <typename T>
T Load(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The value of a scalar of a usual type.
std::optional<Json> ScalarValue(DataType dtype, const std::string& bytes) {
  switch (dtype) {
    case tensorflow::DT_FLOAT:
      return JsonNumber(Load<float>(bytes));
    case tensorflow::DT_DOUBLE:
      return JsonNumber(Load<double>(bytes));
    case tensorflow::DT_INT32:
      return Load<int32_t>(bytes);
    case tensorflow::DT_INT64:
      return Load<int64_t>(bytes);
    case tensorflow::DT_UINT32:
      return Load<uint32_t>(bytes);
    case tensorflow::DT_UINT64:
      return Load<uint64_t>(bytes);
    case tensorflow::DT_BOOL:
      return Load<uint8_t>(bytes) != 0;
    default:
      return std::nullopt;
  }
}

// Verifies the tensor; the value of a scalar, else nothing.
absl::StatusOr<std::optional<Json>> ReadValue(const BundleReader& reader,
                                              const BundleEntry& entry) {
  if (DataTypeSize(entry.dtype) > 0) {
    ASSIGN_OR_RETURN(const std::string bytes, reader.ReadBytes(entry));
    if (entry.shape.empty()) return ScalarValue(entry.dtype, bytes);
  } else if (entry.dtype == tensorflow::DT_STRING && !entry.partitioned()) {
    RETURN_IF_ERROR(reader.ReadStrings(entry).status());
  }
  return std::optional<Json>();
}

std::string ShapeText(const BundleEntry& entry) {
  return absl::StrCat("[", absl::StrJoin(entry.shape, ","), "]");
}

}  // namespace

absl::Status InspectCheckpoint(const std::string& prefix, bool json, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(prefix));
  size_t name_width = 4, dtype_width = 5, shape_width = 5, bytes_width = 5;
  uint64_t total_bytes = 0;
  for (const BundleEntry& entry : reader->entries()) {
    name_width = std::max(name_width, Escape(entry.name).size());
    dtype_width = std::max(dtype_width, DTypeName(entry.dtype).size());
    shape_width = std::max(shape_width, ShapeText(entry).size());
    bytes_width = std::max(bytes_width, absl::StrCat(entry.size).size());
    total_bytes += entry.size;
  }
  const auto row = [&](const std::string& name, const std::string& dtype, const std::string& shape,
                       const std::string& bytes, const std::string& value) {
    std::string line = absl::StrFormat("%-*s  %-*s  %-*s  %*s", name_width, name, dtype_width,
                                       dtype, shape_width, shape, bytes_width, bytes);
    if (!value.empty()) absl::StrAppend(&line, "  ", value);
    out << line << "\n";
  };
  if (!json) {
    out << absl::StrFormat("checkpoint %s: %d tensors, %d bytes\n", Escape(prefix),
                           reader->entries().size(), total_bytes);
    row("name", "dtype", "shape", "bytes", "value");
  }
  for (const BundleEntry& entry : reader->entries()) {
    ASSIGN_OR_RETURN(const std::optional<Json> value, ReadValue(*reader, entry));
    if (!json) {
      row(Escape(entry.name), DTypeName(entry.dtype), ShapeText(entry), absl::StrCat(entry.size),
          value.has_value() ? JsonText(*value) : "");
      continue;
    }
    Json object = {{"name", JsonBytes(entry.name)},
                   {"dtype", DTypeName(entry.dtype)},
                   {"shape", entry.shape},
                   {"bytes", entry.size}};
    if (value.has_value()) object["value"] = *value;
    out << JsonText(object) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace tpurun
