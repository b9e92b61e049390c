#include "models/metrics.h"

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

Value BuildAccuracy(GraphBuilder& b, const std::vector<Value>& arguments, std::string* mistake) {
  return AccuracyValues(b, arguments[0], arguments[1], mistake);
}

Value BuildMean(GraphBuilder& b, const std::vector<Value>& arguments, std::string*) {
  return Convert(b, arguments[0], DType::kF32);
}

std::string FieldOf(const proto::MetricArgs& args, const std::string& field) {
  if (field == "labels") return args.labels();
  if (field == "predictions") return args.predictions();
  return args.values();
}

void BuildMetric(ModelContext& m, const proto::Metric& metric, const ConfigPlace& place) {
  EvalMetric result{.name = metric.name()};
  ConfigErrors errors;
  const MetricDef* def = ChooseRow(MetricList(), metric, "metric", "", errors);
  m.errors.Add(place, errors);
  if (def == nullptr) return m.AddMetric(place, result);
  const auto& args = static_cast<const proto::MetricArgs&>(
      metric.GetReflection()->GetMessage(metric, ChosenKind(metric)));
  std::vector<Value> arguments;
  bool known = true;
  for (const std::string& field : def->fields) {
    if (field == "weights") continue;
    const Tensor* tensor =
        m.Argument(place, absl::StrCat(def->name, ".", field), FieldOf(args, field));
    known = known && tensor != nullptr && tensor->known();
    if (known) arguments.push_back(tensor->value);
  }
  if (known) {
    ScopedName scope(m.b, absl::StrCat("metrics/", metric.name()));
    std::string mistake;
    const Value values = def->build(m.b, arguments, &mistake);
    if (mistake.empty()) {
      const Value weights = WeightsLike(m, place, def->name + ".weights", args.weights(), values);
      result = MeanMetric(m.b, metric.name(), values, weights, m.row_weight);
    } else {
      m.errors.Add(place, def->name, mistake);
    }
  }
  m.AddMetric(place, std::move(result));
}

}  // namespace

const std::vector<MetricDef>& MetricList() {
  static const std::vector<MetricDef>& list = *new std::vector<MetricDef>{
      {.name = "accuracy", .fields = {"labels", "predictions", "weights"}, .build = BuildAccuracy},
      {.name = "mean", .fields = {"values", "weights"}, .build = BuildMean},
  };
  return list;
}

Value AccuracyValues(GraphBuilder& b, Value labels, Value predictions, std::string* mistake) {
  const Shape p = b.shape(predictions);
  const Shape y = b.shape(labels);
  if (!IsWhole(y.dtype)) {
    *mistake = absl::StrCat("labels must be class ids, INT32 or INT64, got ", BatchShapeText(y));
    return {};
  }
  Value ids = predictions;
  if (p.dtype == DType::kF32 && p.rank() >= 2 && p.dims.back() > 1) {
    ids = ArgMax(b, predictions, p.rank() - 1, DType::kS64);
  } else if (!IsWhole(p.dtype)) {
    *mistake =
        absl::StrCat("predictions must be class ids or logits f32[N,C], got ", BatchShapeText(p));
    return {};
  }
  const Value targets = AlignTo(b, Convert(b, labels, DType::kS64), b.shape(ids));
  if (!targets.valid()) {
    *mistake = absl::StrCat("labels and predictions must have one shape, got labels ",
                            BatchShapeText(y), " and predictions ", BatchShapeText(p));
    return {};
  }
  return Convert(b, Equal(b, Convert(b, ids, DType::kS64), targets), DType::kF32);
}

Value AbsoluteErrorValues(GraphBuilder& b, Value labels, Value predictions, std::string* mistake) {
  const Value targets = AlignTo(b, Convert(b, labels, DType::kF32), b.shape(predictions));
  if (!targets.valid()) {
    *mistake = absl::StrCat("labels and predictions must have one shape, got labels ",
                            BatchShapeText(b.shape(labels)), " and predictions ",
                            BatchShapeText(b.shape(predictions)));
    return {};
  }
  const Value error = Sub(b, predictions, targets);
  return Maximum(b, error, Neg(b, error));
}

EvalMetric MeanMetric(GraphBuilder& b, const std::string& name, Value values, Value weights,
                      Value row_weight) {
  const Value count = weights.valid() ? weights : Constant(b, DType::kF32, b.shape(values).dims, 1);
  const Value weighted = weights.valid() ? Mul(b, values, weights) : values;
  return {
      .name = name,
      .statistics = {RowSums(b, weighted, row_weight), RowSums(b, count, row_weight)},
      .result = [](std::span<const double> sums) { return sums[1] == 0 ? 0 : sums[0] / sums[1]; }};
}

Value BatchMean(GraphBuilder& b, Value values, Value weights) {
  if (!weights.valid()) return ReduceMean(b, values);
  const Value count = ReduceSum(b, weights);
  const Value none = Equal(b, count, Scalar(b, 0));
  const Value sum = Select(b, none, Scalar(b, 0), ReduceSum(b, Mul(b, values, weights)));
  return Div(b, sum, Select(b, none, Scalar(b, 1), count));
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
