// decode_raw { feature output dtype shape offset little_endian }: the bytes of a string as numbers.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "data/transforms/bind_features.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Reverses the bytes of each number.
void SwapBytes(std::byte* bytes, int64_t size, int64_t number_bytes) {
  for (int64_t i = 0; i < size; i += number_bytes)
    std::reverse(bytes + i, bytes + i + number_bytes);
}

// The bytes from `offset` on, as many as a row has; without one, all of them.
absl::Status DecodeStrings(const std::string& feature, std::optional<int64_t> offset, bool swap,
                           const RowBatch& rows, Table* out, const std::string& output) {
  const Column& from = rows.in.column(feature);
  Column& to = out->column(output);
  const int64_t row_bytes = to.type.row_bytes();
  to.bytes.resize(rows.in.rows * row_bytes);
  for (int64_t row = 0; row < rows.in.rows; ++row) {
    const std::string_view bytes = from.string(row);
    const int64_t begin = offset.value_or(0);
    const bool fits = offset.has_value() ? std::ssize(bytes) - begin >= row_bytes
                                         : std::ssize(bytes) == row_bytes;
    if (!fits) {
      return absl::DataLossError(absl::StrCat(
          rows.where(row), ": feature ", Quote(feature), " has ", bytes.size(), " bytes, want ",
          row_bytes, offset.has_value() ? absl::StrCat(" from offset ", begin, " on") : "", " for ",
          to.type.ToString()));
    }
    std::byte* const numbers = to.bytes.data() + row * row_bytes;
    std::memcpy(numbers, bytes.data() + begin, row_bytes);
    if (swap) SwapBytes(numbers, row_bytes, ElementBytes(to.type.dtype));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<RowTransform> BindDecodeRaw(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors) {
  const proto::DecodeRaw& decode_raw = transform.decode_raw();
  // A byte of BOOL other than 0 and 1 would be no value of that type.
  if (decode_raw.dtype() == proto::BOOL || ElementBytes(decode_raw.dtype()) == 0) {
    errors.Add("dtype",
               absl::StrCat("dtype must be a type of numbers, such as UINT8 or FLOAT32, got ",
                            proto::DataType_Name(decode_raw.dtype())));
  }
  const ColumnType made = {
      "", decode_raw.dtype(), {decode_raw.shape().begin(), decode_raw.shape().end()}};
  CheckDims(made.dims, {}, "shape", errors);
  RowTransform bound =
      BindDecoder(decode_raw.feature(), decode_raw.has_output() ? &decode_raw.output() : nullptr,
                  made, input, errors);
  if (!errors.empty()) return std::nullopt;
  bound.is_bitcast = decode_raw.little_endian();
  const std::string& feature = bound.reads[0];
  const ColumnType output = MadeColumn(bound, 0);
  const std::optional<int64_t> offset =
      decode_raw.has_offset() ? std::optional(decode_raw.offset()) : std::nullopt;
  const bool little_endian = decode_raw.little_endian();
  bound.apply = [feature, offset, little_endian, name = output.name](const RowBatch& rows,
                                                                     Table* out) {
    return DecodeStrings(feature, offset, !little_endian, rows, out, name);
  };
  const std::optional<ElementType> type = ExportedType(output.dtype);
  if (type.has_value() && type != ElementType::kUint32) {  // which DecodeRaw does not make
    bound.tensorflow = [feature, offset, output, type, little_endian](
                           ExportGraph& graph, const std::set<std::string>&,
                           std::map<std::string, Value>& columns) {
      Value bytes = columns.at(feature);
      if (offset.has_value()) {
        bytes = graph.Add(
            "Substr",
            {bytes, graph.Int64(*offset, "offset"), graph.Int64(output.row_bytes(), "size")},
            {{"T", ElementType::kInt64}, {"unit", "BYTE"}});
      }
      ExportAttrs attrs = {{"out_type", *type}};
      if (!little_endian) attrs["little_endian"] = false;
      const Value numbers = graph.Add("DecodeRaw", {bytes}, attrs);
      ExportDims dims = output.dims;
      dims.insert(dims.begin(), -1);
      columns[output.name] = graph.Add("Reshape", {numbers, graph.Int64s(dims, "shape")},
                                       {{"T", *type}, {"Tshape", ElementType::kInt64}});
    };
  }
  return bound;
}

}  // namespace tpurun
