// Metrics whose labels are class ids: accuracy, in_top_k, and those of the confusion matrix.
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metric_families.h"

namespace tpurun {
namespace {

// The most classes of a confusion matrix. Each row's statistic has as many numbers as the matrix:
// 256 KiB with this many classes.
constexpr int64_t kMostClasses = 256;

// The sums of a confusion matrix. Row and column are classes of labels and of predictions.
struct ClassSums {
  std::vector<double> found;      // of the diagonal
  std::vector<double> labels;     // of rows
  std::vector<double> predicted;  // of columns
  double all = 0;
};

ClassSums SumClasses(std::span<const double> matrix, int64_t classes) {
  ClassSums sums{.found = std::vector<double>(classes),
                 .labels = std::vector<double>(classes),
                 .predicted = std::vector<double>(classes)};
  for (int64_t label = 0; label < classes; ++label) {
    for (int64_t id = 0; id < classes; ++id) {
      const double count = matrix[label * classes + id];
      if (id == label) sums.found[id] = count;
      sums.labels[label] += count;
      sums.predicted[id] += count;
      sums.all += count;
    }
  }
  return sums;
}

double MeanIou(const ClassSums& sums) {
  double total = 0, classes = 0;
  for (size_t i = 0; i < sums.found.size(); ++i) {
    const double in_either = sums.labels[i] + sums.predicted[i] - sums.found[i];
    if (in_either == 0) continue;
    total += sums.found[i] / in_either;
    ++classes;
  }
  return classes == 0 ? 0 : total / classes;
}

// Gorodkin 2004, equation 8, of which two classes are Matthews' coefficient.
double MatthewsCorrelation(const ClassSums& sums) {
  const auto product = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  const double found = std::accumulate(sums.found.begin(), sums.found.end(), 0.0);
  const double square = sums.all * sums.all;
  const double covariance = found * sums.all - product(sums.labels, sums.predicted);
  const double of_labels = square - product(sums.labels, sums.labels);
  const double of_predictions = square - product(sums.predicted, sums.predicted);
  if (of_labels <= 0 || of_predictions <= 0) return 0;
  return covariance / std::sqrt(of_labels * of_predictions);
}

// Builds score(the sums of the confusion matrix).
template <double (*score)(const ClassSums&)>
EvalMetric BuildOfClassSums(MetricCall& call) {
  EvalMetric metric = BuildConfusionMatrix(call);
  if (metric.statistics.empty()) return metric;
  metric.result = [matrix = metric.result](std::span<const double> sums) {
    const MetricValue value = matrix(sums);
    return score(SumClasses(value.values, value.dims[0]));
  };
  GraphBuilder& b = call.b();
  const auto [labels, ids] = ClassIds(b, call.tensors[0], call.tensors[1], call.errors);
  const int64_t classes = NumClasses(call);
  const auto is_class = [&](Value id) {
    return ReduceSum(b, OneHot(b, id, classes), {static_cast<int64_t>(b.shape(id).rank())});
  };
  const Value are_classes = Mul(b, is_class(labels), is_class(ids));
  return call.DefinedFor(std::move(metric), Equal(b, are_classes, Scalar(b, 0)),
                         absl::StrCat("labels and predictions in [0, ", classes, ")"));
}

}  // namespace

bool AreLogits(const Shape& predictions) {
  return predictions.dtype == DType::kF32 && predictions.rank() >= 2 && predictions.dims.back() > 1;
}

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
    errors.Add("", AreLogits(p)
                       ? absl::StrCat("labels must be class ids, one for each row of the "
                                      "predictions ",
                                      BatchShapeText(p), ", got ", BatchShapeText(y))
                       : absl::StrCat("labels and predictions must have one shape, got labels ",
                                      BatchShapeText(y), " and predictions ", BatchShapeText(p)));
    return {};
  }
  return {targets, Convert(b, ids, DType::kS64)};
}

int64_t NumClasses(MetricCall& call) {
  const Shape p = call.b().shape(call.tensors[1]);
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

Value AccuracyValues(GraphBuilder& b, Value labels, Value predictions, ConfigErrors& errors) {
  const auto [targets, ids] = ClassIds(b, labels, predictions, errors);
  return targets.valid() ? Convert(b, Equal(b, ids, targets), DType::kF32) : Value{};
}

EvalMetric BuildAccuracy(MetricCall& call) {
  return call.MeanOf(AccuracyValues(call.b(), call.tensors[0], call.tensors[1], call.errors));
}

// ---- in_top_k: tf.nn.in_top_k at each position of predictions (N, ..., C): 1 if fewer than k
// values are larger than the value of the label. 0 if a value is not finite or the label is not a
// class.

EvalMetric BuildInTopK(MetricCall& call) {
  GraphBuilder& b = call.b();
  const Shape p = b.shape(call.tensors[1]), y = b.shape(call.tensors[0]);
  if (p.dtype != DType::kF32 || p.rank() < 2 || p.dims.back() < 2) {
    return call.Fail(
        absl::StrCat("predictions must be f32[N,C] or [N,T,C], one value for each class, got ",
                     BatchShapeText(p)));
  }
  const std::vector<int64_t> places(p.dims.begin(), p.dims.end() - 1);
  const Value aligned = AlignTo(b, call.tensors[0], Shape{y.dtype, places});
  if (!IsWhole(y.dtype) || !aligned.valid()) {
    return call.Fail(absl::StrCat("labels must be class ids, INT32 or INT64 ",
                                  p.rank() == 2 ? "[N]" : "[N,T]", ", got ", BatchShapeText(y)));
  }
  const int64_t classes = p.dims.back(), n = p.num_elements() / classes;
  const Value predictions = Reshape(b, call.tensors[1], {n, classes});
  const Value ids = Reshape(b, aligned, {n});
  const auto count = [&b](Value condition) {
    return ReduceSum(b, Convert(b, condition, DType::kF32), {1});
  };
  const Value is_label = Greater(b, OneHot(b, ids, classes), Scalar(b, 0));
  const Value own = ReduceSum(b, Select(b, is_label, predictions, Scalar(b, 0)), {1});
  const Value larger = count(Greater(b, predictions, Broadcast(b, own, {n, classes}, {0})));
  const Value finite = count(Equal(b, Sub(b, predictions, predictions), Scalar(b, 0)));
  const Value near = Convert(b, Greater(b, Scalar(b, call.args.k()), larger), DType::kF32);
  const Value known =
      Convert(b, Equal(b, finite, Scalar(b, static_cast<double>(classes))), DType::kF32);
  return call.MeanOf(Reshape(b, Mul(b, Mul(b, near, known), count(is_label)), places));
}

// ---- confusion_matrix: tf.math.confusion_matrix. With Y and Z (P, C) the one-hot labels and
// predictions of a row's P positions: Y' Z, with weights in Y. An id that is no class is a row of
// zeros.

EvalMetric BuildConfusionMatrix(MetricCall& call) {
  GraphBuilder& b = call.b();
  const auto [labels, ids] = ClassIds(b, call.tensors[0], call.tensors[1], call.errors);
  if (!labels.valid()) return {};
  const int64_t classes = NumClasses(call);
  if (classes == 0) return {};
  const Shape shape = b.shape(ids);
  const int64_t n = shape.dims[0], positions = shape.num_elements() / n;
  const Value weights = call.Weights(Convert(b, ids, DType::kF32));
  Value y = OneHot(b, labels, classes);
  if (weights.valid()) y = Mul(b, y, AlongColumns(b, weights, classes));
  const std::vector<int64_t> dims = {n, positions, classes};
  const Value share =
      BatchMatMul(b, MaskRows(b, Reshape(b, y, dims), call.m.row_weight),
                  Reshape(b, OneHot(b, ids, classes), dims), Precision::kF32, /*transpose_x=*/true);
  return {.statistics = {share}, .result = [classes](std::span<const double> sums) {
            return MetricValue({classes, classes}, {sums.begin(), sums.end()});
          }};
}

EvalMetric BuildMeanIou(MetricCall& call) { return BuildOfClassSums<MeanIou>(call); }

EvalMetric BuildMatthewsCorrelation(MetricCall& call) {
  return BuildOfClassSums<MatthewsCorrelation>(call);
}

}  // namespace tpurun
