// to_tensor { feature output length default_value row_lengths }: rows of different lengths become
// rows of one length.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Copies the rows of `from` to those of `to`, `length` elements each.
using PadFunction = void (*)(const Column& from, int64_t rows, int64_t length, double padding,
                             Column* to);

template <typename T>
void PadRows(const Column& from, int64_t rows, int64_t length, double padding, Column* to) {
  to->bytes.resize(rows * length * sizeof(T));
  T* out = reinterpret_cast<T*>(to->bytes.data());
  for (int64_t row = 0; row < rows; ++row, out += length) {
    const std::span<const std::byte> bytes = from.BytesOf(row);
    const T* const values = reinterpret_cast<const T*>(bytes.data());
    const int64_t count = std::min<int64_t>(bytes.size() / sizeof(T), length);
    std::copy_n(values, count, out);
    std::fill(out + count, out + length, static_cast<T>(padding));
  }
}

// Of strings, with "".
void PadStringRows(const Column& from, int64_t rows, int64_t length, double, Column* to) {
  to->Clear();
  for (int64_t row = 0; row < rows; ++row) {
    const auto [begin, end] = from.ElementsOf(row);
    for (int64_t i = begin; i < begin + length; ++i) {
      to->AppendString(i < end ? from.string(i) : std::string_view());
    }
  }
}

// How rows of a type are padded, and whether they may be with that value. nullptr for other types.
struct Padding {
  PadFunction pad = nullptr;
  bool fits = false;
};

template <typename T>
Padding PaddingOf(double value) {
  using Limits = std::numeric_limits<T>;
  // 2^63 is the value of the largest int64 as a double.
  const bool in_range = value >= static_cast<double>(Limits::lowest()) &&
                        (sizeof(T) == 8 ? value < static_cast<double>(Limits::max())
                                        : value <= static_cast<double>(Limits::max()));
  return {PadRows<T>, in_range && (std::is_floating_point_v<T> || value == std::floor(value))};
}

Padding FindPadding(proto::DataType dtype, double value) {
  switch (dtype) {
    case proto::FLOAT32:
      return PaddingOf<float>(value);
    case proto::INT32:
      return PaddingOf<int32_t>(value);
    case proto::INT64:
      return PaddingOf<int64_t>(value);
    case proto::UINT8:
      return PaddingOf<uint8_t>(value);
    case proto::UINT32:
      return PaddingOf<uint32_t>(value);
    case proto::STRING:
      return {PadStringRows, true};
    default:
      return {};
  }
}

void SetLengths(const Column& from, int64_t rows, int64_t length, Column* to) {
  to->bytes.resize(rows * sizeof(int32_t));
  const std::span<int32_t> lengths = to->values<int32_t>();
  for (int64_t row = 0; row < rows; ++row) {
    lengths[row] = static_cast<int32_t>(std::min(from.DimsOf(row)[0], length));
  }
}

// ------------------------------------------------------------------------------- TensorFlow's ops

ExportTensor PaddingTensor(proto::DataType dtype, double value) {
  if (dtype == proto::STRING) return ExportTensor::Strings({}, {""});
  const auto scalar = [&](auto number) {
    return ExportTensor{
        .type = *ExportedType(dtype),
        .bytes = std::string(reinterpret_cast<const char*>(&number), sizeof number)};
  };
  switch (dtype) {
    case proto::FLOAT32:
      return scalar(static_cast<float>(value));
    case proto::INT32:
      return scalar(static_cast<int32_t>(value));
    case proto::UINT8:
      return scalar(static_cast<uint8_t>(value));
    case proto::UINT32:
      return scalar(static_cast<uint32_t>(value));
    default:
      return scalar(static_cast<int64_t>(value));
  }
}

Value AddToTensor(ExportGraph& graph, const Ragged& list, const proto::ToTensor& to_tensor,
                  const ColumnType& feature) {
  constexpr ElementType kInt64 = ElementType::kInt64;
  const Value padding =
      graph.Constant(PaddingTensor(feature.dtype, to_tensor.default_value()), "default_value");
  return graph.Add(
      "RaggedTensorToTensor",
      {graph.Int64s({-1, to_tensor.length()}, "shape"), list.values, padding, list.row_splits},
      {{"T", *ExportedType(feature.dtype)},
       {"Tindex", kInt64},
       {"Tshape", kInt64},
       {"num_row_partition_tensors", int64_t{1}},
       {"row_partition_types", std::vector<std::string>{"ROW_SPLITS"}}});
}

Value AddLengths(ExportGraph& graph, const Ragged& list, int64_t length) {
  constexpr ElementType kInt64 = ElementType::kInt64;
  const Value rows =
      graph.Add("Sub", {TensorFlowRows(graph, list.row_splits, kInt64), graph.Int64s({1}, "one")},
                {{"T", kInt64}});
  const auto splits_from = [&](int64_t begin) {
    return graph.Add("Slice", {list.row_splits, graph.Int64s({begin}, "begin"), rows},
                     {{"T", kInt64}, {"Index", kInt64}});
  };
  const Value lengths = graph.Add("Sub", {splits_from(1), splits_from(0)}, {{"T", kInt64}});
  const Value most =
      graph.Add("Minimum", {lengths, graph.Int64(length, "length")}, {{"T", kInt64}});
  return CastTo(graph, ExportFormat::kTensorFlow, most, kInt64, ElementType::kInt32);
}

}  // namespace

std::optional<RowTransform> BindToTensor(const proto::Transform& transform, const Schema& input,
                                         ConfigErrors& errors) {
  const proto::ToTensor& to_tensor = transform.to_tensor();
  const int index = FindFeature(input, to_tensor.feature(), "feature", errors);
  if (to_tensor.has_output()) CheckColumnName(to_tensor.output(), {}, "output", errors);
  const std::string output = to_tensor.has_output() ? to_tensor.output() : to_tensor.feature();
  const std::string& lengths = to_tensor.row_lengths();
  if (to_tensor.has_row_lengths()) {
    CheckColumnName(lengths, {}, "row_lengths", errors);
    if (lengths == output) {
      errors.Add("row_lengths", absl::StrCat("row_lengths must have another key than the result, ",
                                             Quote(output)));
    }
  }
  if (!errors.empty()) return std::nullopt;
  const ColumnType& feature = input[index];
  const Padding padding = FindPadding(feature.dtype, to_tensor.default_value());
  if (padding.pad == nullptr || !feature.is_list()) {
    errors.Add("feature",
               absl::StrCat("feature ", Quote(feature.name),
                            " must be FLOAT32, INT32, INT64, UINT8, UINT32 or STRING [?], got ",
                            feature.ToString()));
  } else if (feature.dtype == proto::STRING && to_tensor.has_default_value()) {
    errors.Add("default_value", absl::StrCat("feature ", Quote(feature.name),
                                             " is STRING, which is padded with \"\": leave "
                                             "default_value out"));
  } else if (!padding.fits) {
    errors.Add("default_value", absl::StrCat("default_value must be a value of ",
                                             proto::DataType_Name(feature.dtype), ", got ",
                                             ShortestText(to_tensor.default_value())));
  }
  if (!errors.empty()) return std::nullopt;
  RowTransform bound{.output = input, .reads = {feature.name}, .makes = {output}};
  PutColumn({output, feature.dtype, {to_tensor.length()}}, &bound.output);
  if (to_tensor.has_row_lengths()) {
    bound.makes.push_back(lengths);
    PutColumn({lengths, proto::INT32, {}}, &bound.output);
  }
  bound.apply = [pad = padding.pad, to_tensor, output](const RowBatch& rows, Table* out) {
    const Column& from = rows.in.column(to_tensor.feature());
    pad(from, rows.in.rows, to_tensor.length(), to_tensor.default_value(), &out->column(output));
    if (to_tensor.has_row_lengths()) {
      SetLengths(from, rows.in.rows, to_tensor.length(), &out->column(to_tensor.row_lengths()));
    }
    return absl::OkStatus();
  };
  bound.tensorflow = [to_tensor, feature, output](ExportGraph& graph,
                                                  const std::set<std::string>& wanted,
                                                  std::map<std::string, Value>& columns) {
    const Ragged list = RaggedOf(graph, feature, columns);
    if (wanted.count(output) > 0) columns[output] = AddToTensor(graph, list, to_tensor, feature);
    if (to_tensor.has_row_lengths() && wanted.count(to_tensor.row_lengths()) > 0) {
      columns[to_tensor.row_lengths()] = AddLengths(graph, list, to_tensor.length());
    }
  };
  return bound;
}

}  // namespace tpurun
