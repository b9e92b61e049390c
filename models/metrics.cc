#include "models/metrics.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The number of auc's 200 thresholds that are inside of [0, 1]: i / 199.
constexpr int64_t kInnerThresholds = 198;

// The most classes of a confusion matrix. Each row's statistic has as many numbers as the matrix:
// 256 KiB with this many classes.
constexpr int64_t kMostClasses = 256;

double Ratio(std::span<const double> sums) { return sums[1] == 0 ? 0 : sums[0] / sums[1]; }

Value Weighted(GraphBuilder& b, Value values, Value weights) {
  return weights.valid() ? Mul(b, values, weights) : values;
}

// Returns the labels and predictions as f32 in one shape. If the shapes do not fit, adds an error
// and returns an invalid pair.
std::pair<Value, Value> SameShape(MetricCall& call) {
  GraphBuilder& b = call.b();
  const Value predictions = Convert(b, call.tensors[1], DType::kF32);
  const Value labels = LabelsLike(b, call.tensors[0], predictions, "predictions", call.errors);
  return labels.valid() ? std::pair(labels, predictions) : std::pair(Value{}, Value{});
}

// True if the predictions are one value for each class, not class ids.
bool AreLogits(const Shape& predictions) {
  return predictions.dtype == DType::kF32 && predictions.rank() >= 2 && predictions.dims.back() > 1;
}

// Returns the class ids of labels and predictions as s64 in one shape. Adds an error and returns an
// invalid pair if they are not class ids.
std::pair<Value, Value> ClassIds(GraphBuilder& b, Value labels, Value predictions,
                                 ConfigErrors& errors) {
  const Shape p = b.shape(predictions);
  const Shape y = b.shape(labels);
  if (!CheckClassIds(y, errors)) return {};
  Value ids = predictions;
  if (AreLogits(p)) {
    ids = ArgMax(b, predictions, p.rank() - 1, DType::kS64);
  } else if (!IsWhole(p.dtype)) {
    errors.Add("", absl::StrCat("predictions must be class ids or logits f32[N,C], got ",
                                BatchShapeText(p)));
    return {};
  }
  const Value targets = AlignTo(b, Convert(b, labels, DType::kS64), b.shape(ids));
  if (!targets.valid()) {
    errors.Add("", absl::StrCat("labels and predictions must have one shape, got labels ",
                                BatchShapeText(y), " and predictions ", BatchShapeText(p)));
    return {};
  }
  return {targets, Convert(b, ids, DType::kS64)};
}

// Builds the weighted mean of values_of(labels, predictions).
template <Value (*values_of)(GraphBuilder&, Value, Value, ConfigErrors&)>
EvalMetric BuildMeanOf(MetricCall& call) {
  const Value values = values_of(call.b(), call.tensors[0], call.tensors[1], call.errors);
  if (!call.errors.empty()) return {};
  return MeanMetric(call.b(), values, call.Weights(values), call.m.row_weight);
}

EvalMetric BuildMean(MetricCall& call) {
  const Value values = Convert(call.b(), call.tensors[0], DType::kF32);
  return MeanMetric(call.b(), values, call.Weights(values), call.m.row_weight);
}

EvalMetric BuildRootMeanSquaredError(MetricCall& call) {
  const auto [labels, predictions] = SameShape(call);
  if (!labels.valid()) return {};
  const Value squares = Square(call.b(), Sub(call.b(), predictions, labels));
  EvalMetric metric = MeanMetric(call.b(), squares, call.Weights(squares), call.m.row_weight);
  metric.result = [](std::span<const double> sums) { return std::sqrt(Ratio(sums)); };
  return metric;
}

// Returns sum(w y p) / sum(w p) if `over_predictions`, else sum(w y p) / sum(w y). Labels y and
// predictions p count as 1 if they are not 0.
EvalMetric TruePositivesOver(MetricCall& call, bool over_predictions) {
  const auto [labels, predictions] = SameShape(call);
  if (!labels.valid()) return {};
  GraphBuilder& b = call.b();
  const Value y = NonZero(b, labels), p = NonZero(b, predictions);
  const Value weights = call.Weights(p);
  const Value found = Weighted(b, Mul(b, y, p), weights);
  const Value all = Weighted(b, over_predictions ? p : y, weights);
  return {.statistics = {RowSums(b, found, call.m.row_weight), RowSums(b, all, call.m.row_weight)},
          .result = Ratio};
}

EvalMetric BuildPrecision(MetricCall& call) { return TruePositivesOver(call, true); }
EvalMetric BuildRecall(MetricCall& call) { return TruePositivesOver(call, false); }

// tf.nn.in_top_k: 1 if fewer than k values of the row are larger than the value of the label. 0 if
// a value of the row is not finite or the label is not a class.
EvalMetric BuildInTopK(MetricCall& call) {
  GraphBuilder& b = call.b();
  const Value labels = call.tensors[0], predictions = call.tensors[1];
  const Shape p = b.shape(predictions), y = b.shape(labels);
  if (p.dtype != DType::kF32 || p.rank() != 2) {
    return call.Fail(absl::StrCat("predictions must be f32[N,C], one value for each class, got ",
                                  BatchShapeText(p)));
  }
  const Value ids = AlignTo(b, labels, Shape{y.dtype, {p.dims[0]}});
  if (!IsWhole(y.dtype) || !ids.valid()) {
    return call.Fail(
        absl::StrCat("labels must be class ids, INT32 or INT64 [N], got ", BatchShapeText(y)));
  }
  const auto count = [&b](Value condition) {
    return ReduceSum(b, Convert(b, condition, DType::kF32), {1});
  };
  const Value is_label = Greater(b, OneHot(b, ids, p.dims[1]), Scalar(b, 0));
  const Value own = ReduceSum(b, Select(b, is_label, predictions, Scalar(b, 0)), {1});
  const Value larger = count(Greater(b, predictions, Broadcast(b, own, p.dims, {0})));
  const Value finite = count(Equal(b, Sub(b, predictions, predictions), Scalar(b, 0)));
  const Value near = Convert(b, Greater(b, Scalar(b, call.args.k()), larger), DType::kF32);
  const Value known =
      Convert(b, Equal(b, finite, Scalar(b, static_cast<double>(p.dims[1]))), DType::kF32);
  const Value values = Mul(b, Mul(b, near, known), count(is_label));
  return MeanMetric(b, values, call.Weights(values), call.m.row_weight);
}

// Returns the number of classes of confusion_matrix for predictions of shape `p`. Returns 0 after a
// mistake, which is reported.
int64_t NumClasses(MetricCall& call, const Shape& p) {
  const bool given = call.args.has_num_classes();
  if (given && (call.args.num_classes() < 1 || call.args.num_classes() > kMostClasses)) {
    return 0;  // the field's rule reports it
  }
  const int64_t classes = AreLogits(p) ? p.dims.back() : call.args.num_classes();
  const std::string field = given ? "num_classes" : "predictions";
  if (!AreLogits(p) && !given) {
    call.Fail(
        absl::StrCat("num_classes is missing: predictions are class ids, ", BatchShapeText(p)),
        field);
  } else if (given && call.args.num_classes() != classes) {
    call.Fail(absl::StrCat("num_classes: got ", call.args.num_classes(), ", want ", classes,
                           ", of predictions ", BatchShapeText(p), ", or leave it out"),
              field);
  } else if (classes < 1 || classes > kMostClasses) {
    call.Fail(absl::StrCat("predictions: got ", classes, " classes, want 1 to ", kMostClasses),
              field);
  }
  return call.errors.empty() ? classes : 0;
}

// tf.math.confusion_matrix.
EvalMetric BuildConfusionMatrix(MetricCall& call) {
  GraphBuilder& b = call.b();
  const Shape p = b.shape(call.tensors[1]);
  auto [labels, ids] = ClassIds(b, call.tensors[0], call.tensors[1], call.errors);
  if (!labels.valid()) return {};
  const int64_t classes = NumClasses(call, p);
  if (classes == 0) return {};
  const Shape rows = {DType::kS64, {p.dims[0]}};
  labels = AlignTo(b, labels, rows);
  ids = AlignTo(b, ids, rows);
  if (!ids.valid()) {
    return call.Fail(absl::StrCat("predictions must be logits f32[N,C] or class ids [N], got ",
                                  BatchShapeText(p)));
  }
  // The index of the row's element in the matrix, exact in f32; -1 if there is none.
  const Value y = Convert(b, labels, DType::kF32), z = Convert(b, ids, DType::kF32);
  const auto is_class = [&](Value x) {
    return Mul(b, Convert(b, GreaterEqual(b, x, Scalar(b, 0)), DType::kF32),
               Convert(b, Greater(b, Scalar(b, classes), x), DType::kF32));
  };
  const Value counts = MaskRows(b, Mul(b, is_class(y), is_class(z)), call.m.row_weight);
  const Value element = Select(b, Greater(b, counts, Scalar(b, 0)),
                               Add(b, Mul(b, y, Scalar(b, classes)), z), Scalar(b, -1));
  Value share = OneHot(b, Convert(b, element, DType::kS32), classes * classes);
  if (const Value weights = call.Weights(y); weights.valid()) {
    const Value masked = MaskRows(b, weights, call.m.row_weight);
    share = Mul(b, share, Broadcast(b, masked, b.shape(share).dims, {0}));
  }
  return {.statistics = {share}, .result = [classes](std::span<const double> sums) {
            return MetricValue({classes, classes}, {sums.begin(), sums.end()});
          }};
}

// Returns the area under the ROC curve, by trapezoids. `sums` has the positives, the negatives, the
// positives above each inner threshold, and the negatives above each inner threshold. All are above
// the first of the 200 thresholds, none above the last.
double RocArea(std::span<const double> sums) {
  constexpr double kEpsilon = 1e-6;  // prevents 0 / 0
  const double positives = sums[0], negatives = sums[1];
  const std::span<const double> true_positives = sums.subspan(2, kInnerThresholds);
  const std::span<const double> false_positives = sums.subspan(2 + kInnerThresholds);
  double area = 0;
  double last_x = negatives / (negatives + kEpsilon), last_y = 1;
  for (int64_t i = 0; i <= kInnerThresholds; ++i) {
    const bool inner = i < kInnerThresholds;
    const double x = (inner ? false_positives[i] : 0) / (negatives + kEpsilon);
    const double y = ((inner ? true_positives[i] : 0) + kEpsilon) / (positives + kEpsilon);
    area += (last_x - x) * (last_y + y) / 2;
    last_x = x;
    last_y = y;
  }
  return area;
}

// tf.metrics.auc.
EvalMetric BuildAuc(MetricCall& call) {
  const auto [labels, predictions] = SameShape(call);
  if (!labels.valid()) return {};
  GraphBuilder& b = call.b();
  const Value weights = call.Weights(predictions);
  const Value y = NonZero(b, labels);
  const Value positives = Weighted(b, y, weights);
  const Value negatives = Weighted(b, Sub(b, Scalar(b, 1), y), weights);
  std::vector<int64_t> numbers(kInnerThresholds);
  std::iota(numbers.begin(), numbers.end(), 1);
  const Value thresholds =
      Div(b, Convert(b, ConstantInt(b, DType::kS32, {kInnerThresholds}, numbers), DType::kF32),
          Scalar(b, kInnerThresholds + 1));
  // (N, ..., thresholds): 1 for each prediction above the threshold.
  const Shape p = b.shape(predictions);
  std::vector<int64_t> dims = p.dims, own(p.rank());
  dims.push_back(kInnerThresholds);
  std::iota(own.begin(), own.end(), 0);
  const Value above =
      Convert(b,
              Greater(b, Broadcast(b, predictions, dims, own),
                      Broadcast(b, thresholds, dims, {static_cast<int64_t>(p.rank())})),
              DType::kF32);
  // (N, thresholds): sums over the other dimensions of a row.
  const auto shares = [&](Value x) {
    Value sum = Mul(b, Broadcast(b, x, dims, own), above);
    std::vector<int64_t> between;
    for (int64_t axis = 1; axis < p.rank(); ++axis) between.push_back(axis);
    if (!between.empty()) sum = ReduceSum(b, sum, between);
    return MaskRows(b, sum, call.m.row_weight);
  };
  return {.statistics = {RowSums(b, positives, call.m.row_weight),
                         RowSums(b, negatives, call.m.row_weight), shares(positives),
                         shares(negatives)},
          .result = RocArea};
}

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

void BuildMetric(ModelContext& m, const proto::Metric& metric, const ConfigPlace& place) {
  EvalMetric result;
  ConfigErrors errors;
  const MetricDef* def = ChooseRow(MetricList(), metric, "metric", "", errors);
  m.errors.Add(place, errors);
  if (def != nullptr) {
    const auto& args = static_cast<const proto::MetricArgs&>(
        metric.GetReflection()->GetMessage(metric, ChosenKind(metric)));
    MetricCall call{.m = m, .place = place, .name = def->name, .args = args};
    bool known = true;
    for (const auto* const field : TensorFields(def->name)) {
      const Tensor* tensor = m.Argument(place, absl::StrCat(def->name, ".", field->name()),
                                        args.GetReflection()->GetString(args, field));
      known = known && tensor != nullptr && tensor->known();
      if (known) call.tensors.push_back(tensor->value);
    }
    ScopedName scope(m.b, absl::StrCat("metrics/", metric.name()));
    const ScopedOrigins origins(m.b, kMetricsOrigin, NodeOrigin::Phase::kOutput);
    if (known) result = def->build(call);
    m.errors.Add(FieldPlace(place, def->name), call.errors);
  }
  result.name = metric.name();
  m.AddMetric(place, std::move(result));
}

}  // namespace

Value MetricCall::Weights(Value like) const {
  if (weights.has_value()) return *weights;
  return WeightsLike(m, place, name + ".weights", args.weights(), like);
}

EvalMetric MetricCall::Fail(const std::string& message, const std::string& field) {
  errors.Add(field, message);
  return {};
}

const std::vector<MetricDef>& MetricList() {
  static const std::vector<MetricDef>& list = *new std::vector<MetricDef>{
      {.name = "accuracy", .build = BuildMeanOf<AccuracyValues>},
      {.name = "auc", .build = BuildAuc},
      {.name = "confusion_matrix", .build = BuildConfusionMatrix},
      {.name = "in_top_k", .build = BuildInTopK},
      {.name = "mean", .build = BuildMean},
      {.name = "precision", .build = BuildPrecision},
      {.name = "recall", .build = BuildRecall},
      {.name = "root_mean_squared_error", .build = BuildRootMeanSquaredError},
  };
  return list;
}

Value AccuracyValues(GraphBuilder& b, Value labels, Value predictions, ConfigErrors& errors) {
  const auto [targets, ids] = ClassIds(b, labels, predictions, errors);
  return targets.valid() ? Convert(b, Equal(b, ids, targets), DType::kF32) : Value{};
}

Value AbsoluteErrorValues(GraphBuilder& b, Value labels, Value predictions, ConfigErrors& errors) {
  const Value targets = LabelsLike(b, labels, predictions, "predictions", errors);
  if (!targets.valid()) return {};
  const Value error = Sub(b, predictions, targets);
  return Maximum(b, error, Neg(b, error));
}

EvalMetric MeanMetric(GraphBuilder& b, Value values, Value weights, Value row_weight) {
  const Value count = weights.valid() ? weights : Constant(b, DType::kF32, b.shape(values).dims, 1);
  return {.statistics = {RowSums(b, Weighted(b, values, weights), row_weight),
                         RowSums(b, count, row_weight)},
          .result = Ratio};
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
