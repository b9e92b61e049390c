// Metrics of labels and predictions that are positive or not: precision, recall, f1_score and auc.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metric_families.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Labels and predictions, 1 if positive and 0 if not, f32 (N, ..., K) for K thresholds or classes,
// and their weights (N, ...). Invalid labels: a mistake is reported.
struct Decisions {
  Value labels;
  Value predictions;
  Value weights;  // invalid: each is 1
  // What has been compared with thresholds, or taken for 0 and others, f32 (N, ...). Invalid:
  // nothing has.
  Value probabilities = {};
  Value flags = {};
};

// The weights of the rows that one of the K columns counts.
struct DecisionSums {
  double found = 0;      // positive in labels and predictions
  double predicted = 0;  // positive in predictions
  double actual = 0;     // positive in labels
};

double QuotientOrZero(double x, double y) { return y == 0 ? 0 : x / y; }

double PrecisionOf(const DecisionSums& sums) { return QuotientOrZero(sums.found, sums.predicted); }
double RecallOf(const DecisionSums& sums) { return QuotientOrZero(sums.found, sums.actual); }
double F1Of(const DecisionSums& sums) {
  return QuotientOrZero(2 * sums.found, sums.predicted + sums.actual);
}

Value IsTrue(GraphBuilder& b, Value condition) { return Convert(b, condition, DType::kF32); }

// x (N, ...) -> (N, ..., K): 1 for each value above the threshold. `thresholds` is (K).
Value Above(GraphBuilder& b, Value x, Value thresholds) {
  const Value columns = AlongColumns(b, x, b.shape(thresholds).dims[0]);
  const Shape& shape = b.shape(columns);
  const int64_t last = shape.rank() - 1;
  const std::vector<int64_t> dims = shape.dims;
  return IsTrue(b, Greater(b, columns, Broadcast(b, thresholds, dims, {last})));
}

// x (N, ..., K) -> (N, ...): the element of the last axis.
Value OfLastAxis(GraphBuilder& b, Value x, int64_t element) {
  std::vector<int64_t> size = b.shape(x).dims, begin(size.size(), 0), dims = size;
  begin.back() = element;
  size.back() = 1;
  dims.pop_back();
  return Reshape(b, Slice(b, x, begin, size), dims);
}

// The field `thresholds` as f32 (K).
Value Thresholds(MetricCall& call) {
  const auto& thresholds = call.args.thresholds();
  return ConstantFloats(call.b(), {thresholds.begin(), thresholds.end()}, thresholds.size());
}

// Whether the predictions, values of classes, have class_id; a mistake is reported.
bool HasClass(MetricCall& call) {
  const Shape p = call.b().shape(call.tensors[1]);
  const int64_t id = call.args.class_id();
  if (!AreLogits(p) || id < p.dims.back()) return true;
  call.Fail(absl::StrCat("class_id: got ", id, ", want a class of predictions ", BatchShapeText(p),
                         ", 0 to ", p.dims.back() - 1),
            "class_id");
  return false;
}

// Labels and predictions are class ids, or predictions are logits: positive is class_id. With
// thresholds, the probability of that class is compared.
Decisions OfClass(MetricCall& call) {
  GraphBuilder& b = call.b();
  const int64_t id = call.args.class_id();
  const Shape p = b.shape(call.tensors[1]);
  if (!HasClass(call)) return {};
  if (call.args.thresholds_size() > 0 && !AreLogits(p)) {
    call.Fail(absl::StrCat("thresholds are for probabilities f32[N,C], got predictions ",
                           BatchShapeText(p)),
              "thresholds[0]");
    return {};
  }
  const auto [labels, ids] = ClassIds(b, call.tensors[0], call.tensors[1], call.errors);
  if (!labels.valid()) return {};
  const Value own = ConstantInt(b, DType::kS64, {}, {id});
  const Value y = IsTrue(b, Equal(b, labels, own));
  Value positive = AlongColumns(b, IsTrue(b, Equal(b, ids, own)), 1), probabilities;
  if (call.args.thresholds_size() > 0) {
    probabilities = OfLastAxis(b, call.tensors[1], id);
    positive = Above(b, probabilities, Thresholds(call));
  }
  return {AlongColumns(b, y, b.shape(positive).dims.back()), positive, call.Weights(y),
          probabilities};
}

// Positive are labels that are not 0, and predictions that are not 0 or above a threshold.
Decisions OfNumbers(MetricCall& call) {
  GraphBuilder& b = call.b();
  if (call.args.thresholds_size() > 0 && b.shape(call.tensors[1]).dtype != DType::kF32) {
    call.Fail(absl::StrCat("thresholds are for probabilities, f32, got predictions ",
                           BatchShapeText(b.shape(call.tensors[1]))),
              "thresholds[0]");
    return {};
  }
  const auto [labels, predictions] = SameShape(call);
  if (!labels.valid()) return {};
  const bool has_thresholds = call.args.thresholds_size() > 0;
  const Value positive = has_thresholds ? Above(b, predictions, Thresholds(call))
                                        : AlongColumns(b, NonZero(b, predictions), 1);
  return {AlongColumns(b, NonZero(b, labels), b.shape(positive).dims.back()), positive,
          call.Weights(predictions), has_thresholds ? predictions : Value{},
          has_thresholds ? Value{} : predictions};
}

// Each class is a column.
Decisions OfClasses(MetricCall& call) {
  GraphBuilder& b = call.b();
  const auto [labels, ids] = ClassIds(b, call.tensors[0], call.tensors[1], call.errors);
  if (!labels.valid()) return {};
  const int64_t classes = NumClasses(call);
  if (classes == 0) return {};
  return {OneHot(b, labels, classes), OneHot(b, ids, classes),
          call.Weights(Convert(b, ids, DType::kF32))};
}

// Builds result(the sums of each column).
EvalMetric BuildOfDecisions(MetricCall& call, const Decisions& decisions,
                            std::function<MetricValue(std::span<const DecisionSums>)> result) {
  if (!decisions.labels.valid()) return {};
  GraphBuilder& b = call.b();
  const Value y = decisions.labels, p = decisions.predictions;
  const int64_t columns = b.shape(y).dims.back();
  const Value weights =
      decisions.weights.valid() ? AlongColumns(b, decisions.weights, columns) : decisions.weights;
  EvalMetric metric;
  for (const Value x : {Mul(b, y, p), p, y}) {
    metric.statistics.push_back(SumsOfColumns(b, Weighted(b, x, weights), call.m.row_weight));
  }
  metric.result = [columns, result = std::move(result)](std::span<const double> sums) {
    std::vector<DecisionSums> all;
    for (int64_t i = 0; i < columns; ++i)
      all.push_back({sums[i], sums[columns + i], sums[2 * columns + i]});
    return result(all);
  };
  if (decisions.probabilities.valid()) {
    return OfProbabilities(call, std::move(metric), decisions.probabilities);
  }
  if (!decisions.flags.valid()) return metric;
  const Value rest = Sub(b, decisions.flags, Floor(b, decisions.flags));
  return call.DefinedFor(std::move(metric), Greater(b, rest, Scalar(b, 0)),
                         "predictions 0 and 1, or thresholds for probabilities, such as 0.5");
}

// A number for one column, else an array.
template <double (*score)(const DecisionSums&)>
MetricValue OfEachColumn(std::span<const DecisionSums> columns) {
  std::vector<double> scores;
  for (const DecisionSums& column : columns) scores.push_back(score(column));
  if (scores.size() == 1) return scores[0];
  return MetricValue({static_cast<int64_t>(scores.size())}, scores);
}

// The columns are classes.
MetricValue F1OfClasses(std::span<const DecisionSums> classes, proto::MetricArgs::Average average) {
  if (average == proto::MetricArgs::NONE) {
    std::vector<double> scores;
    for (const DecisionSums& of : classes) scores.push_back(F1Of(of));
    return MetricValue({static_cast<int64_t>(scores.size())}, scores);
  }
  DecisionSums all;
  double scores = 0, weighted = 0;
  for (const DecisionSums& of : classes) {
    all = {all.found + of.found, all.predicted + of.predicted, all.actual + of.actual};
    scores += F1Of(of);
    weighted += F1Of(of) * of.actual;
  }
  if (average == proto::MetricArgs::MICRO) return F1Of(all);
  if (average == proto::MetricArgs::MACRO) return scores / static_cast<double>(classes.size());
  return QuotientOrZero(weighted, all.actual);
}

// ---- auc: sums of positives and negatives that are above each threshold. All are above the first
// threshold, which is below 0, and none above the last.

struct AucSums {
  std::vector<double> positives, negatives;
};

// `sums` has the positives, the negatives, the positives above each inner threshold, and the
// negatives above each inner threshold.
AucSums AboveThresholds(std::span<const double> sums) {
  const size_t inner = sums.size() / 2 - 1;
  AucSums above{{sums[0]}, {sums[1]}};
  const auto add = [inner](std::span<const double> of, std::vector<double>& to) {
    to.insert(to.end(), of.begin(), of.begin() + static_cast<std::ptrdiff_t>(inner));
    to.push_back(0);
  };
  add(sums.subspan(2), above.positives);
  add(sums.subspan(2 + inner), above.negatives);
  return above;
}

// The area under the ROC curve, by trapezoids.
double RocArea(const AucSums& above) {
  constexpr double kEpsilon = 1e-6;  // prevents 0 / 0
  const double positives = above.positives[0], negatives = above.negatives[0];
  double area = 0;
  double last_x = negatives / (negatives + kEpsilon), last_y = 1;
  for (size_t i = 1; i < above.positives.size(); ++i) {
    const double x = above.negatives[i] / (negatives + kEpsilon);
    const double y = (above.positives[i] + kEpsilon) / (positives + kEpsilon);
    area += (last_x - x) * (last_y + y) / 2;
    last_x = x;
    last_y = y;
  }
  return area;
}

// The area under the precision-recall curve. Between two thresholds the true positives t change
// linearly with the positive predictions p: t = slope p + intercept (Davis and Goadrich 2006). The
// precision t / p has the integral slope dp + intercept log(p_first / p_last).
double PrecisionRecallArea(const AucSums& above) {
  const std::vector<double>& t = above.positives;
  double area = 0;
  for (size_t i = 1; i < t.size(); ++i) {
    const double first = t[i - 1] + above.negatives[i - 1], last = t[i] + above.negatives[i];
    const double slope = QuotientOrZero(t[i - 1] - t[i], std::max(first - last, 0.0));
    const double intercept = t[i] - slope * last;
    const double ratio = first > 0 && last > 0 ? first / last : 1;
    area += slope * (t[i - 1] - t[i] + intercept * std::log(ratio));
  }
  return QuotientOrZero(area, t[0]);
}

// Labels, 1 or 0, and probabilities, f32 (N, ...). Invalid after a mistake, which is reported.
std::pair<Value, Value> LabelsAndProbabilities(MetricCall& call) {
  GraphBuilder& b = call.b();
  if (!call.args.has_class_id()) {
    const auto [labels, predictions] = SameShape(call);
    return {labels.valid() ? NonZero(b, labels) : labels, predictions};
  }
  if (!AreLogits(b.shape(call.tensors[1]))) {
    call.Fail(absl::StrCat("class_id is for probabilities f32[N,C], got predictions ",
                           BatchShapeText(b.shape(call.tensors[1]))),
              "class_id");
    return {};
  }
  if (!HasClass(call)) return {};
  const auto [labels, ids] = ClassIds(b, call.tensors[0], call.tensors[1], call.errors);
  if (!labels.valid()) return {};
  const int64_t id = call.args.class_id();
  return {IsTrue(b, Equal(b, labels, ConstantInt(b, DType::kS64, {}, {id}))),
          OfLastAxis(b, call.tensors[1], id)};
}

}  // namespace

EvalMetric BuildPrecision(MetricCall& call) {
  return BuildOfDecisions(call, call.args.has_class_id() ? OfClass(call) : OfNumbers(call),
                          OfEachColumn<PrecisionOf>);
}

EvalMetric BuildRecall(MetricCall& call) {
  return BuildOfDecisions(call, call.args.has_class_id() ? OfClass(call) : OfNumbers(call),
                          OfEachColumn<RecallOf>);
}

EvalMetric BuildF1Score(MetricCall& call) {
  const proto::MetricArgs::Average average = call.args.average();
  if (average != proto::MetricArgs::BINARY) {
    return BuildOfDecisions(call, OfClasses(call),
                            [average](auto classes) { return F1OfClasses(classes, average); });
  }
  if (call.args.has_num_classes()) {
    return call.Fail(
        "num_classes is for the scores of classes; give average: MACRO or leave it out",
        "num_classes");
  }
  return BuildOfDecisions(call, call.args.has_class_id() ? OfClass(call) : OfNumbers(call),
                          OfEachColumn<F1Of>);
}

// tf.metrics.auc.
EvalMetric BuildAuc(MetricCall& call) {
  if (call.args.num_thresholds() < 3) return {};  // the field's rule reports it
  GraphBuilder& b = call.b();
  const auto [y, predictions] = LabelsAndProbabilities(call);
  if (!y.valid()) return {};
  const Value weights = call.Weights(predictions);
  const Value positives = Weighted(b, y, weights);
  const Value negatives = Weighted(b, Sub(b, Scalar(b, 1), y), weights);
  const int64_t inner = call.args.num_thresholds() - 2;  // inside of [0, 1]
  std::vector<int64_t> numbers(inner);
  std::iota(numbers.begin(), numbers.end(), 1);
  const Value thresholds =
      Div(b, Convert(b, ConstantInt(b, DType::kS32, {inner}, numbers), DType::kF32),
          Scalar(b, static_cast<double>(inner + 1)));
  const Value above = Above(b, predictions, thresholds);
  const auto shares = [&](Value x) {
    return SumsOfColumns(b, Mul(b, AlongColumns(b, x, inner), above), call.m.row_weight);
  };
  const auto area = call.args.curve() == proto::MetricArgs::PR ? PrecisionRecallArea : RocArea;
  return OfProbabilities(
      call,
      {.statistics = {RowSums(b, positives, call.m.row_weight),
                      RowSums(b, negatives, call.m.row_weight), shares(positives),
                      shares(negatives)},
       .result = [area](std::span<const double> sums) { return area(AboveThresholds(sums)); }},
      predictions);
}

}  // namespace tpurun
