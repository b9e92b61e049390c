#include "models/metrics.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metric_families.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The most numbers that the statistics of a row may have, over all groups: 256 KiB, as of a
// confusion matrix of 256 classes.
constexpr int64_t kMostStatistics = 65536;

// Returns the fields of MetricArgs that name tensors and that this kind of metric has, in the order
// of MetricCall::tensors.
std::vector<const google::protobuf::FieldDescriptor*> TensorFields(const std::string& kind) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (const char* name : {"labels", "predictions", "values"}) {
    const auto* const field = proto::MetricArgs::descriptor()->FindFieldByName(name);
    if (IsOfKind(*field, kind)) fields.push_back(field);
  }
  return fields;
}

// Returns the metric's groups, f32 (N, groups), 1 at the group of a row. Invalid after a mistake,
// which is reported.
Value GroupsOf(ModelContext& m, const proto::Metric& metric, const ConfigPlace& place) {
  if (metric.num_groups() < 1) {
    if (!metric.has_num_groups()) m.errors.Add(place, "by", "num_groups is missing: by needs it");
    return {};
  }
  const Tensor* const tensor = m.Argument(place, "by", metric.by());
  if (tensor == nullptr || !tensor->known()) return {};
  const Shape shape = m.b.shape(tensor->value);
  const Value ids = AlignTo(m.b, tensor->value, Shape{shape.dtype, {shape.dims[0]}});
  if (!IsWhole(shape.dtype) || !ids.valid()) {
    m.errors.Add(place, "by",
                 absl::StrCat("by must name one number for each example, INT32 or INT64 [N], got ",
                              Quote(metric.by()), " of ", BatchShapeText(shape)));
    return {};
  }
  return OneHot(m.b, ids, metric.num_groups());
}

// Returns the metric of each group of rows, NaN for a group without rows. The sums of a group are
// those of its rows alone. `place` is that of the metric.
EvalMetric ByGroup(ModelContext& m, const proto::Metric& metric, const ConfigPlace& place,
                   const EvalMetric& of_all) {
  GraphBuilder& b = m.b;
  const Value member = GroupsOf(m, metric, place);
  if (!member.valid() || of_all.statistics.empty()) return {};
  const int64_t n = b.shape(member).dims[0], groups = metric.num_groups();
  EvalMetric result{.statistics = {MaskRows(b, member, m.row_weight)},
                    .undefined = of_all.undefined,
                    .wanted = of_all.wanted};
  std::vector<int64_t> sizes;  // of the statistics, in numbers a row
  int64_t all = 0;
  for (const Value statistic : of_all.statistics) {
    sizes.push_back(b.shape(statistic).num_elements() / n);
    all += sizes.back();
    if (all * groups > kMostStatistics) continue;
    const std::vector<int64_t> dims = {n, groups, sizes.back()};
    const Value in_group = Greater(b, Broadcast(b, member, dims, {0, 1}), Scalar(b, 0));
    const Value values = Broadcast(b, Reshape(b, statistic, {n, sizes.back()}), dims, {0, 2});
    // Not a product: a NaN would be in all groups.
    result.statistics.push_back(Select(b, in_group, values, Scalar(b, 0)));
  }
  if (all * groups > kMostStatistics) {
    m.errors.Add(place, "num_groups",
                 absl::StrCat("num_groups: got ", groups, ", want at most ", kMostStatistics / all,
                              ": the metric has ", all, " sums for each group"));
    return {};
  }
  result.result = [groups, sizes, of_group = of_all.result](std::span<const double> sums) {
    std::vector<int64_t> dims = {groups};
    std::vector<double> values;
    for (int64_t group = 0; group < groups; ++group) {
      std::vector<double> own;
      std::span<const double> left = sums.subspan(groups);
      for (const int64_t size : sizes) {
        const std::span<const double> of = left.subspan(group * size, size);
        own.insert(own.end(), of.begin(), of.end());
        left = left.subspan(groups * size);
      }
      MetricValue value = of_group(own);
      if (sums[group] == 0) {
        std::fill(value.values.begin(), value.values.end(),
                  std::numeric_limits<double>::quiet_NaN());
      }
      if (group == 0) dims.insert(dims.end(), value.dims.begin(), value.dims.end());
      values.insert(values.end(), value.values.begin(), value.values.end());
    }
    return MetricValue(dims, values);
  };
  return result;
}

// Returns the metric of all rows. It has no statistics after a mistake, which is reported.
EvalMetric BuildOfAll(ModelContext& m, const proto::Metric& metric, const ConfigPlace& place,
                      const MetricDef& def) {
  const auto& args = static_cast<const proto::MetricArgs&>(
      metric.GetReflection()->GetMessage(metric, ChosenKind(metric)));
  MetricCall call{.m = m, .place = place, .name = def.name, .args = args};
  bool known = true;
  for (const auto* const field : TensorFields(def.name)) {
    const Tensor* tensor = m.Argument(place, absl::StrCat(def.name, ".", field->name()),
                                      args.GetReflection()->GetString(args, field),
                                      /*or_of_head=*/field->name() != "labels");
    known = known && tensor != nullptr && tensor->known();
    if (!known) continue;
    const bool of_labels = field->name() == "labels";
    call.tensors.push_back(of_labels ? ClassesOfLabel(m.b, *tensor) : tensor->value);
    if (of_labels) {
      call.counted = tensor->counted;
    } else {
      call.mask = tensor->mask;
    }
  }
  if (!known) return {};
  EvalMetric result = def.build(call);
  m.errors.Add(FieldPlace(place, def.name), call.errors);
  return result;
}

void BuildMetric(ModelContext& m, const proto::Metric& metric, const ConfigPlace& place) {
  EvalMetric result;
  ConfigErrors errors;
  const MetricDef* def = ChooseRow(MetricList(), metric, "metric", "", errors);
  m.errors.Add(place, errors);
  if (def != nullptr) {
    ScopedName scope(m.b, absl::StrCat("metrics/", metric.name()));
    const ScopedOrigins origins(m.b, kMetricsOrigin, NodeOrigin::Phase::kOutput);
    result = BuildOfAll(m, metric, place, *def);
    if (metric.has_by()) result = ByGroup(m, metric, place, result);
  }
  result.name = metric.name();
  m.AddMetric(place, std::move(result));
}

}  // namespace

Value MetricCall::Weights(Value like) const {
  if (weights.has_value()) return *weights;
  const Value given = WeightsLike(m, place, name + ".weights", args.weights(), like);
  return MaskedByLabel(m, place, name + ".labels", MaskedWeights(b(), given, mask, like), counted,
                       like);
}

EvalMetric MetricCall::MeanOf(Value values) const {
  if (!values.valid()) return {};
  return MeanMetric(b(), values, Weights(values), m.row_weight);
}

Value MetricCall::SumOfCounted(Value x) const {
  const Value own_weights = Weights(x);
  if (own_weights.valid())
    x = Select(b(), Equal(b(), own_weights, Scalar(b(), 0)), Scalar(b(), 0), x);
  return RowSums(b(), x, m.row_weight);
}

EvalMetric MetricCall::DefinedFor(EvalMetric metric, Value undefined, std::string wanted) const {
  if (metric.statistics.empty()) return metric;
  metric.undefined = SumOfCounted(Convert(b(), undefined, DType::kF32));
  metric.wanted = std::move(wanted);
  return metric;
}

EvalMetric MetricCall::Fail(const std::string& message, const std::string& field) {
  errors.Add(field, message);
  return {};
}

const std::vector<MetricDef>& MetricList() {
  static const std::vector<MetricDef>& list = *new std::vector<MetricDef>{
      {.name = "accuracy", .build = BuildAccuracy},
      {.name = "auc", .build = BuildAuc},
      {.name = "binary_crossentropy", .build = BuildBinaryCrossentropy},
      {.name = "confusion_matrix", .build = BuildConfusionMatrix},
      {.name = "cosine_similarity", .build = BuildCosineSimilarity},
      {.name = "f1_score", .build = BuildF1Score},
      {.name = "in_top_k", .build = BuildInTopK},
      {.name = "matthews_correlation", .build = BuildMatthewsCorrelation},
      {.name = "mean", .build = BuildMean},
      {.name = "mean_absolute_error", .build = BuildMeanAbsoluteError},
      {.name = "mean_iou", .build = BuildMeanIou},
      {.name = "mean_squared_error", .build = BuildMeanSquaredError},
      {.name = "precision", .build = BuildPrecision},
      {.name = "r2_score", .build = BuildR2Score},
      {.name = "recall", .build = BuildRecall},
      {.name = "root_mean_squared_error", .build = BuildRootMeanSquaredError},
      {.name = "sparse_categorical_crossentropy", .build = BuildSparseCategoricalCrossentropy},
  };
  return list;
}

void BuildMetrics(ModelContext& m) {
  for (int i = 0; i < m.spec.eval_metric_size(); ++i) {
    const proto::Metric& metric = m.spec.eval_metric(i);
    BuildMetric(m, metric,
                {absl::StrCat("eval_metric ", i,
                              metric.has_name() ? absl::StrCat(" ", Quote(metric.name())) : ""),
                 absl::StrCat("model.eval_metric[", i, "]")});
  }
}

}  // namespace tpurun
