// one_hot { feature output depth on_value off_value }: tf.one_hot along a new last dimension, as
// FLOAT32. An id outside [0, depth) gives off_value alone.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

template <typename Id>
void SetOnes(const Column& from, const proto::OneHotEncoding& one_hot, Column* to) {
  const std::span<const Id> ids = from.values<Id>();
  const int64_t depth = one_hot.depth();
  to->bytes.resize(ids.size() * depth * sizeof(float));
  const std::span<float> values = to->values<float>();
  std::fill(values.begin(), values.end(), one_hot.off_value());
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<int64_t>(ids[i]);
    if (id >= 0 && id < depth) values[i * depth + id] = one_hot.on_value();
  }
}

using OneHotFunction = void (*)(const Column& from, const proto::OneHotEncoding& one_hot,
                                Column* to);

OneHotFunction FindOneHot(proto::DataType dtype) {
  switch (dtype) {
    case proto::UINT8:
      return SetOnes<uint8_t>;
    case proto::INT32:
      return SetOnes<int32_t>;
    case proto::INT64:
      return SetOnes<int64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

std::optional<RowTransform> BindOneHot(const proto::Transform& transform, const Schema& input,
                                       ConfigErrors& errors) {
  const proto::OneHotEncoding& one_hot = transform.one_hot();
  const auto dtype_of = [](const ColumnType& feature) -> absl::StatusOr<proto::DataType> {
    if (FindOneHot(feature.dtype) != nullptr && !feature.varies()) return proto::FLOAT32;
    return absl::InvalidArgumentError(absl::StrCat("feature ", Quote(feature.name),
                                                   " must be UINT8, INT32 or INT64, got ",
                                                   feature.ToString()));
  };
  std::optional<RowTransform> bound =
      BindFeatures(one_hot.feature(), one_hot.has_output() ? &one_hot.output() : nullptr, input,
                   dtype_of, errors);
  if (!bound.has_value()) return std::nullopt;
  std::vector<OneHotFunction> functions;
  std::vector<ElementType> types;
  for (size_t i = 0; i < bound->reads.size(); ++i) {
    const ColumnType& feature = ReadColumn(*bound, input, i);
    functions.push_back(FindOneHot(feature.dtype));
    types.push_back(*ExportedType(feature.dtype));
    ColumnType& made = bound->output[FindColumn(bound->output, bound->makes[i])];
    made.dims.push_back(one_hot.depth());
    if (!CheckDims(made.dims, {}, "depth", errors)) return std::nullopt;
  }
  bound->apply = [from = bound->reads, to = bound->makes, functions, one_hot](const RowBatch& rows,
                                                                              Table* out) {
    for (size_t i = 0; i < from.size(); ++i) {
      functions[i](rows.in.column(from[i]), one_hot, &out->column(to[i]));
    }
    return absl::OkStatus();
  };
  bound->tensorflow = [from = bound->reads, to = bound->makes, types, one_hot](
                          ExportGraph& graph, const std::set<std::string>& wanted,
                          std::map<std::string, Value>& columns) {
    const auto scalar = [&graph](float value, const char* label) {
      return graph.Constant(ExportTensor::Float(value), label);
    };
    const auto depth = static_cast<int32_t>(one_hot.depth());
    for (size_t i = 0; i < from.size(); ++i) {
      if (wanted.count(to[i]) == 0) continue;
      columns[to[i]] = graph.Add(
          "OneHot",
          {columns.at(from[i]), graph.Constant(ExportTensor::Int32(depth), "depth"),
           scalar(one_hot.on_value(), "on_value"), scalar(one_hot.off_value(), "off_value")},
          {{"T", ElementType::kFloat}, {"TI", types[i]}, {"axis", int64_t{-1}}});
    }
  };
  return bound;
}

}  // namespace tpurun
