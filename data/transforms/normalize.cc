// normalize { feature mean stddev }: (x - mean) / stddev in f32, one value for all elements or one
// for each element of the last dimension.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/number_types.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/clones.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Floats = google::protobuf::RepeatedField<float>;

template <typename From>
TPURUN_CLONES void NormalizeAll(const From* from, size_t count, const float* mean,
                                const float* stddev, float* to) {
  for (size_t i = 0; i < count; ++i) {
    to[i] = (static_cast<float>(Number(from[i])) - mean[i]) / stddev[i];
  }
}

// Both repeated over the last dimensions of some elements, which are done at a time.
struct Normalization {
  std::vector<float> mean, stddev;
};

template <typename From>
void NormalizeElements(const Column& from, const Normalization& normalization, Column* to) {
  const std::span<const From> values = from.values<From>();
  to->bytes.resize(values.size() * sizeof(float));
  const std::span<float> results = to->values<float>();
  const size_t at_a_time = normalization.mean.size();
  for (size_t begin = 0; begin < values.size(); begin += at_a_time) {
    NormalizeAll(&values[begin], std::min(at_a_time, values.size() - begin),
                 normalization.mean.data(), normalization.stddev.data(), &results[begin]);
  }
}

using NormalizeFunction = void (*)(const Column& from, const Normalization& normalization,
                                   Column* to);

NormalizeFunction FindNormalize(proto::DataType dtype) {
  return ForNumberType(
      dtype, [](auto value) -> NormalizeFunction { return NormalizeElements<decltype(value)>; });
}

void CheckRange(const Floats& values, const char* field, float least, const char* want,
                ConfigErrors& errors) {
  int most = 10;  // they show what is wrong with the others
  for (int i = 0; i < values.size() && most > 0; ++i) {
    if (values[i] >= least && values[i] <= std::numeric_limits<float>::max()) continue;
    errors.Add(ElementPath(field, i),
               absl::StrCat(field, " must be ", want, ", got ", ShortestText(values[i])));
    --most;
  }
}

// 1 where it varies: one value is then for all elements.
int64_t LastDimension(const ColumnType& type) {
  return type.dims.empty() || type.dims.back() == kVaries ? 1 : type.dims.back();
}

// Tells of the first of the features that they do not fit.
void CheckCount(const Floats& values, const char* field, const RowTransform& bound,
                const Schema& input, ConfigErrors& errors) {
  for (size_t i = 0; i < bound.reads.size(); ++i) {
    const ColumnType& feature = ReadColumn(bound, input, i);
    const int64_t columns = LastDimension(feature);
    if (values.size() <= 1 || values.size() == columns) continue;
    const std::string want = feature.dims.empty()
                                 ? "1, for it is a scalar"
                                 : absl::StrCat("1, or ", columns, " for its last dimension");
    errors.Add(field, absl::StrCat("feature ", Quote(feature.name), ": ", values.size(),
                                   " values of ", field, ", want ", want));
    return;
  }
}

// Of `values`, none standing for one `default_value`, as often as makes at least `count` in whole
// last dimensions of so many columns.
std::vector<float> Repeated(const Floats& values, float default_value, int64_t columns,
                            int64_t count) {
  std::vector<float> repeated(columns * std::max<int64_t>(1, (count + columns - 1) / columns),
                              values.empty() ? default_value : values[0]);
  for (size_t i = 0; values.size() > 1 && i < repeated.size(); ++i) {
    repeated[i] = values[static_cast<int>(i % columns)];
  }
  return repeated;
}

ExportTensor AsTensor(const Floats& values, float default_value) {
  if (values.size() <= 1) return ExportTensor::Float(values.empty() ? default_value : values[0]);
  return {.dims = {values.size()},
          .bytes = std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(float))};
}

}  // namespace

std::optional<RowTransform> BindNormalize(const proto::Transform& transform, const Schema& input,
                                          ConfigErrors& errors) {
  const proto::Normalize& normalize = transform.normalize();
  const auto dtype_of = [](const ColumnType& feature) -> absl::StatusOr<proto::DataType> {
    if (FindNormalize(feature.dtype) != nullptr) return proto::FLOAT32;
    return absl::InvalidArgumentError(absl::StrCat("feature ", Quote(feature.name),
                                                   " must be of numbers (", kNumberTypes, "), got ",
                                                   feature.ToString()));
  };
  std::optional<RowTransform> bound =
      BindFeatures(normalize.feature(), nullptr, input, dtype_of, errors);
  constexpr float kLeast = std::numeric_limits<float>::min();  // smaller ones count as 0
  CheckRange(normalize.mean(), "mean", std::numeric_limits<float>::lowest(), "a finite number",
             errors);
  CheckRange(normalize.stddev(), "stddev", kLeast,
             "a finite number > 0 (1 for a column that never changes)", errors);
  if (bound.has_value()) {
    CheckCount(normalize.mean(), "mean", *bound, input, errors);
    CheckCount(normalize.stddev(), "stddev", *bound, input, errors);
  }
  if (!errors.empty()) return std::nullopt;
  struct Bound {
    std::string feature;
    NormalizeFunction function;
    Normalization normalization;
  };
  std::vector<Bound> features;
  std::vector<ElementType> types;
  for (size_t i = 0; i < bound->reads.size(); ++i) {
    const ColumnType& feature = ReadColumn(*bound, input, i);
    constexpr int64_t kAtATime = 1024;
    const int64_t columns = LastDimension(feature);
    features.push_back({feature.name,
                        FindNormalize(feature.dtype),
                        {Repeated(normalize.mean(), 0, columns, kAtATime),
                         Repeated(normalize.stddev(), 1, columns, kAtATime)}});
    types.push_back(*ExportedType(feature.dtype));
  }
  // In place: the columns made have the names of those read.
  bound->apply = [features](const RowBatch& rows, Table* out) {
    for (const Bound& bound : features) {
      const Column& from = rows.in.column(bound.feature);
      Column& to = out->column(bound.feature);
      bound.function(from, bound.normalization, &to);
      to.TakeRowDims(from);
    }
    return absl::OkStatus();
  };
  const auto exported = [&](ExportFormat format) {
    return [normalize, types, format](ExportGraph& graph, const std::set<std::string>& wanted,
                                      std::map<std::string, Value>& columns) {
      for (int i = 0; i < normalize.feature_size(); ++i) {
        if (wanted.count(normalize.feature(i)) == 0) continue;
        Value& x = columns.at(normalize.feature(i));
        x = CastTo(graph, format, x, types[i], ElementType::kFloat);
        x = Binary(graph, format, "Sub", x, graph.Constant(AsTensor(normalize.mean(), 0), "mean"));
        x = Binary(graph, format, "Div", x,
                   graph.Constant(AsTensor(normalize.stddev(), 1), "stddev"));
      }
    };
  };
  bound->tensorflow = exported(ExportFormat::kTensorFlow);
  bound->onnx = exported(ExportFormat::kOnnx);
  return bound;
}

}  // namespace tpurun
