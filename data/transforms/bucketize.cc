// bucketize { feature output boundaries }: the number of boundaries that are <= the value.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/number_types.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

template <typename From>
void BucketizeColumn(const Column& from, const std::vector<float>& boundaries, Column* to) {
  const std::span<const From> values = from.values<From>();
  to->bytes.resize(values.size() * sizeof(int64_t));
  const std::span<int64_t> buckets = to->values<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(Number(values[i]));
    buckets[i] = std::upper_bound(boundaries.begin(), boundaries.end(), value) - boundaries.begin();
  }
}

using BucketizeFunction = void (*)(const Column& from, const std::vector<float>& boundaries,
                                   Column* to);

BucketizeFunction FindBucketize(proto::DataType dtype) {
  return ForNumberType(
      dtype, [](auto value) -> BucketizeFunction { return BucketizeColumn<decltype(value)>; });
}

}  // namespace

std::optional<RowTransform> BindBucketize(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors) {
  const proto::Bucketize& bucketize = transform.bucketize();
  const auto dtype_of = [](const ColumnType& feature) -> absl::StatusOr<proto::DataType> {
    if (FindBucketize(feature.dtype) != nullptr && !feature.varies()) return proto::INT64;
    return absl::InvalidArgumentError(absl::StrCat("feature ", Quote(feature.name),
                                                   " must be of numbers (", kNumberTypes, "), got ",
                                                   feature.ToString()));
  };
  std::optional<RowTransform> bound =
      BindFeatures(bucketize.feature(), bucketize.has_output() ? &bucketize.output() : nullptr,
                   input, dtype_of, errors);
  for (int i = 0; i < bucketize.boundaries_size(); ++i) {
    const float boundary = bucketize.boundaries(i);
    if (!std::isnan(boundary) && (i == 0 || boundary > bucketize.boundaries(i - 1))) continue;
    errors.Add(
        ElementPath("boundaries", i),
        absl::StrCat(
            "boundaries must ascend, got ", ShortestText(boundary),
            i == 0 ? "" : absl::StrCat(" after ", ShortestText(bucketize.boundaries(i - 1)))));
    break;
  }
  if (!errors.empty()) return std::nullopt;
  const std::vector<float> boundaries(bucketize.boundaries().begin(), bucketize.boundaries().end());
  std::vector<BucketizeFunction> functions;
  std::vector<ElementType> types;
  for (size_t i = 0; i < bound->reads.size(); ++i) {
    functions.push_back(FindBucketize(ReadColumn(*bound, input, i).dtype));
    types.push_back(*ExportedType(ReadColumn(*bound, input, i).dtype));
  }
  bound->apply = [from = bound->reads, to = bound->makes, functions, boundaries](
                     const RowBatch& rows, Table* out) {
    for (size_t i = 0; i < from.size(); ++i) {
      functions[i](rows.in.column(from[i]), boundaries, &out->column(to[i]));
    }
    return absl::OkStatus();
  };
  const auto has_op = [](ElementType type) {
    return type == ElementType::kFloat || type == ElementType::kInt32 ||
           type == ElementType::kInt64;
  };
  if (!std::all_of(types.begin(), types.end(), has_op)) return bound;
  bound->tensorflow = [from = bound->reads, to = bound->makes, types, boundaries](
                          ExportGraph& graph, const std::set<std::string>& wanted,
                          std::map<std::string, Value>& columns) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (wanted.count(to[i]) == 0) continue;
      const Value bucket = graph.Add("Bucketize", {columns.at(from[i])},
                                     {{"T", types[i]}, {"boundaries", boundaries}});
      columns[to[i]] = graph.Add("Cast", {bucket},
                                 {{"SrcT", ElementType::kInt32}, {"DstT", ElementType::kInt64}});
    }
  };
  return bound;
}

}  // namespace tpurun
