// category_encoding { feature output num_tokens output_mode }: the ids of a row as one vector, with
// a 1 or a count for each id that it has.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using CountFunction = void (*)(const Column& from, int64_t rows, int64_t num_tokens, bool counts,
                               Column* to);

template <typename Id>
void CountTokens(const Column& from, int64_t rows, int64_t num_tokens, bool counts, Column* to) {
  to->bytes.resize(rows * num_tokens * sizeof(float));
  const std::span<float> values = to->values<float>();
  std::fill(values.begin(), values.end(), 0.0f);
  const std::span<const Id> ids = from.values<Id>();
  for (int64_t row = 0; row < rows; ++row) {
    const std::span<float> of_row = values.subspan(row * num_tokens, num_tokens);
    const auto [begin, end] = from.ElementsOf(row);
    for (int64_t i = begin; i < end; ++i) {
      const auto id = static_cast<int64_t>(ids[i]);
      if (id >= 0 && id < num_tokens) of_row[id] = counts ? of_row[id] + 1 : 1;
    }
  }
}

CountFunction FindCountFunction(proto::DataType dtype) {
  switch (dtype) {
    case proto::UINT8:
      return CountTokens<uint8_t>;
    case proto::INT32:
      return CountTokens<int32_t>;
    case proto::INT64:
      return CountTokens<int64_t>;
    default:
      return nullptr;
  }
}

struct BoundEncoding {
  ColumnType from;
  std::string output;
  CountFunction count = nullptr;
};

// A scatter of ones to (row, id); to id 0 goes a 0 for an id outside.
Value AddEncoding(ExportGraph& graph, const Ragged& ids, const proto::CategoryEncoding& encoding,
                  ElementType type) {
  constexpr ElementType kInt64 = ElementType::kInt64, kFloat = ElementType::kFloat;
  const Value id = CastTo(graph, ExportFormat::kTensorFlow, ids.values, type, kInt64);
  const Value zero = graph.Int64(0, "zero"),
              size = graph.Int64(encoding.num_tokens(), "num_tokens");
  const Value inside =
      graph.Add("LogicalAnd", {graph.Add("GreaterEqual", {id, zero}, {{"T", kInt64}}),
                               graph.Add("Less", {id, size}, {{"T", kInt64}})});
  const Value column = graph.Add("SelectV2", {inside, id, zero}, {{"T", kInt64}});
  const Value row = TensorFlowRowIds(graph, {id, ids.row_splits}, kInt64);
  const Value places =
      graph.Add("Pack", {row, column}, {{"T", kInt64}, {"N", int64_t{2}}, {"axis", int64_t{1}}});
  const Value rows =
      graph.Add("Sub", {TensorFlowRows(graph, ids.row_splits, kInt64), graph.Int64s({1}, "one")},
                {{"T", kInt64}});
  const Value shape =
      graph.Add("ConcatV2",
                {rows, graph.Int64s({encoding.num_tokens()}, "num_tokens"), graph.Int32(0, "axis")},
                {{"T", kInt64}, {"Tidx", ElementType::kInt32}, {"N", int64_t{2}}});
  const Value ones = CastTo(graph, ExportFormat::kTensorFlow, inside, ElementType::kBool, kFloat);
  const Value counts =
      graph.Add("ScatterNd", {places, ones, shape}, {{"T", kFloat}, {"Tindices", kInt64}});
  if (encoding.output_mode() == proto::CategoryEncoding::COUNT) return counts;
  return graph.Add("Minimum", {counts, graph.Constant(ExportTensor::Float(1), "one")},
                   {{"T", kFloat}});
}

}  // namespace

std::optional<RowTransform> BindCategoryEncoding(const proto::Transform& transform,
                                                 const Schema& input, ConfigErrors& errors) {
  const proto::CategoryEncoding& encoding = transform.category_encoding();
  const auto dtype_of = [](const ColumnType& feature) -> absl::StatusOr<proto::DataType> {
    if (FindCountFunction(feature.dtype) != nullptr && feature.dims.size() <= 1) {
      return proto::FLOAT32;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", Quote(feature.name),
        " must be UINT8, INT32 or INT64 of at most one dimension, got ", feature.ToString(),
        feature.dtype == proto::STRING ? "; transform { lookup {} } makes ids of words" : ""));
  };
  std::optional<RowTransform> bound =
      BindFeatures(encoding.feature(), encoding.has_output() ? &encoding.output() : nullptr, input,
                   dtype_of, errors);
  if (!bound.has_value()) return std::nullopt;
  std::vector<BoundEncoding> features;
  for (size_t i = 0; i < bound->reads.size(); ++i) {
    const ColumnType& feature = ReadColumn(*bound, input, i);
    features.push_back({feature, bound->makes[i], FindCountFunction(feature.dtype)});
    bound->output[FindColumn(bound->output, bound->makes[i])].dims = {encoding.num_tokens()};
  }
  bound->apply = [features, encoding](const RowBatch& rows, Table* out) {
    const bool counts = encoding.output_mode() == proto::CategoryEncoding::COUNT;
    for (const BoundEncoding& feature : features) {
      feature.count(rows.in.column(feature.from.name), rows.in.rows, encoding.num_tokens(), counts,
                    &out->column(feature.output));
    }
    return absl::OkStatus();
  };
  bound->tensorflow = [features, encoding](ExportGraph& graph, const std::set<std::string>& wanted,
                                           std::map<std::string, Value>& columns) {
    for (const BoundEncoding& feature : features) {
      if (wanted.count(feature.output) == 0) continue;
      columns[feature.output] = AddEncoding(graph, RaggedOf(graph, feature.from, columns), encoding,
                                            *ExportedType(feature.from.dtype));
    }
  };
  return bound;
}

}  // namespace tpurun
