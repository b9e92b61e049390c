// Metrics that are functions of means over all rows: errors of numbers and cross entropies.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metric_families.h"

namespace tpurun {
namespace {

Value DistanceFromHalf(GraphBuilder& b, Value x) {
  const Value from_half = Sub(b, x, Scalar(b, 0.5));
  return Maximum(b, from_half, Neg(b, from_half));
}

// `distance` is from half.
Value IsNoProbability(GraphBuilder& b, Value distance) {
  constexpr double kRounding = 1e-5;  // of a sum of probabilities
  return Greater(b, distance, Scalar(b, 0.5 + kRounding));
}

// Keras' epsilon: probabilities are cut to [epsilon, 1 - epsilon].
constexpr double kProbabilityEpsilon = 1e-7;

Value CutProbabilities(GraphBuilder& b, Value p) {
  return Minimum(b, Maximum(b, p, Scalar(b, kProbabilityEpsilon)),
                 Scalar(b, 1 - kProbabilityEpsilon));
}

// (p - y)^2 in the shape of the predictions. Invalid after a mistake, which is reported.
Value SquaredErrorValues(MetricCall& call) {
  const auto [labels, predictions] = SameShape(call);
  return labels.valid() ? Square(call.b(), Sub(call.b(), predictions, labels)) : Value{};
}

// x (N, ..., D), y (N, ..., D) -> (N, ...): the sum of products.
Value DotProduct(GraphBuilder& b, Value x, Value y) {
  return ReduceSum(b, Mul(b, x, y), {static_cast<int64_t>(b.shape(x).rank()) - 1});
}

// The mean of the scores of `outputs` outputs. `sums` has, each for every output: the weights w,
// w y, the three parts of w y^2, and w (y - p)^2.
double R2OfSums(std::span<const double> sums, int64_t outputs) {
  double scores = 0;
  for (int64_t i = 0; i < outputs; ++i) {
    const auto sum = [&](int64_t statistic) { return sums[statistic * outputs + i]; };
    if (sum(0) == 0) continue;
    const double squares = sum(2) + sum(3) + sum(4);
    const double variation = squares - sum(1) * sum(1) / sum(0);
    // The parts of a square have 40 bits: what is smaller is rounding, and the labels are equal.
    if (variation > squares * 0x1p-36) scores += 1 - sum(5) / variation;
  }
  return scores / static_cast<double>(outputs);
}

}  // namespace

double Ratio(std::span<const double> sums) { return sums[1] == 0 ? 0 : sums[0] / sums[1]; }

Value Weighted(GraphBuilder& b, Value values, Value weights) {
  return weights.valid() ? Mul(b, values, weights) : values;
}

Value SumsOfColumns(GraphBuilder& b, Value x, Value row_weight) {
  std::vector<int64_t> between;
  for (int64_t axis = 1; axis + 1 < b.shape(x).rank(); ++axis) between.push_back(axis);
  return MaskRows(b, between.empty() ? x : ReduceSum(b, x, between), row_weight);
}

Value AlongColumns(GraphBuilder& b, Value x, int64_t columns) {
  std::vector<int64_t> dims = b.shape(x).dims, own(dims.size());
  std::iota(own.begin(), own.end(), 0);
  dims.push_back(columns);
  return Broadcast(b, x, dims, own);
}

std::pair<Value, Value> SameShape(MetricCall& call) {
  GraphBuilder& b = call.b();
  const Value predictions = Convert(b, call.tensors[1], DType::kF32);
  const Value labels = LabelsLike(b, call.tensors[0], predictions, "predictions", call.errors);
  return labels.valid() ? std::pair(labels, predictions) : std::pair(Value{}, Value{});
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

EvalMetric OfProbabilities(const MetricCall& call, EvalMetric metric, Value p, bool of_classes) {
  if (metric.statistics.empty()) return metric;
  GraphBuilder& b = call.b();
  Value distance = DistanceFromHalf(b, p), nan = Sub(b, p, p);
  if (of_classes) {
    const std::vector<int64_t> classes = {static_cast<int64_t>(b.shape(p).rank()) - 1};
    distance = ReduceMax(b, distance, classes);
    nan = ReduceSum(b, nan, classes);
  }
  // A comparison would take NaN for a small number.
  metric.statistics.push_back(call.SumOfCounted(nan));
  metric.result = [result = std::move(metric.result)](std::span<const double> sums) {
    MetricValue value = result(sums.first(sums.size() - 1));
    if (std::isnan(sums.back())) std::fill(value.values.begin(), value.values.end(), sums.back());
    return value;
  };
  return call.DefinedFor(std::move(metric), IsNoProbability(b, distance),
                         "predictions in [0, 1], such as the \"logistic\" or \"probabilities\" of "
                         "a head");
}

EvalMetric BuildMean(MetricCall& call) {
  return call.MeanOf(Convert(call.b(), call.tensors[0], DType::kF32));
}

EvalMetric BuildMeanAbsoluteError(MetricCall& call) {
  const Value predictions = Convert(call.b(), call.tensors[1], DType::kF32);
  return call.MeanOf(AbsoluteErrorValues(call.b(), call.tensors[0], predictions, call.errors));
}

EvalMetric BuildMeanSquaredError(MetricCall& call) { return call.MeanOf(SquaredErrorValues(call)); }

EvalMetric BuildRootMeanSquaredError(MetricCall& call) {
  EvalMetric metric = call.MeanOf(SquaredErrorValues(call));
  metric.result = [](std::span<const double> sums) { return std::sqrt(Ratio(sums)); };
  return metric;
}

// ---- r2_score (Keras R2Score): predictions (N) or (N, ..., D), a score for each of D outputs. The
// square of a label is the sum of three products of its upper 8 bits h and the rest l, h^2, 2 h l
// and l^2, of which only the last is rounded: else little would be left of the variation of labels
// that are far from 0.

EvalMetric BuildR2Score(MetricCall& call) {
  auto [y, p] = SameShape(call);
  if (!y.valid()) return {};
  GraphBuilder& b = call.b();
  Value weights = call.Weights(p);
  if (b.shape(p).rank() == 1) {
    y = AlongColumns(b, y, 1);
    p = AlongColumns(b, p, 1);
    if (weights.valid()) weights = AlongColumns(b, weights, 1);
  }
  const std::vector<int64_t> dims = b.shape(p).dims;
  const Value h = Convert(b, Convert(b, y, DType::kBF16), DType::kF32), l = Sub(b, y, h);
  EvalMetric metric;
  for (const Value x : {Constant(b, DType::kF32, dims, 1), y, Square(b, h), Mul(b, Add(b, h, h), l),
                        Square(b, l), Square(b, Sub(b, y, p))}) {
    metric.statistics.push_back(SumsOfColumns(b, Weighted(b, x, weights), call.m.row_weight));
  }
  metric.result = [outputs = dims.back()](std::span<const double> sums) {
    return R2OfSums(sums, outputs);
  };
  return metric;
}

// ---- binary_crossentropy (Keras): with p cut to [e, 1 - e], e = 1e-7:
// -(y log(p + e) + (1 - y) log(1 - p + e)).

EvalMetric BuildBinaryCrossentropy(MetricCall& call) {
  const auto [y, predictions] = SameShape(call);
  if (!y.valid()) return {};
  GraphBuilder& b = call.b();
  const Value p = CutProbabilities(b, predictions), one = Scalar(b, 1);
  const auto log = [&b](Value x) { return Log(b, Add(b, x, Scalar(b, kProbabilityEpsilon))); };
  const Value of_ones = Mul(b, y, log(p)), of_zeros = Mul(b, Sub(b, one, y), log(Sub(b, one, p)));
  const Value distance = Maximum(b, DistanceFromHalf(b, predictions), DistanceFromHalf(b, y));
  return call.DefinedFor(call.MeanOf(Neg(b, Add(b, of_ones, of_zeros))),
                         IsNoProbability(b, distance),
                         "labels in [0, 1], and predictions such as the \"logistic\" or "
                         "\"probabilities\" of a head");
}

// ---- sparse_categorical_crossentropy (Keras): p (N, ..., C), class ids (N, ...):
// log(sum_j p_j) - log(p_label), with p cut to [e, 1 - e].

EvalMetric BuildSparseCategoricalCrossentropy(MetricCall& call) {
  GraphBuilder& b = call.b();
  const Shape p = b.shape(call.tensors[1]), y = b.shape(call.tensors[0]);
  if (!AreLogits(p)) {
    return call.Fail(absl::StrCat(
        "predictions must be f32[N,C], one probability for each class, got ", BatchShapeText(p)));
  }
  const std::vector<int64_t> places(p.dims.begin(), p.dims.end() - 1);
  const Value ids = AlignTo(b, call.tensors[0], Shape{y.dtype, places});
  if (!IsWhole(y.dtype) || !ids.valid()) {
    return call.Fail(absl::StrCat("labels must be class ids, INT32 or INT64 ",
                                  p.rank() == 2 ? "[N]" : "[N,T]", ", got ", BatchShapeText(y)));
  }
  const int64_t classes = p.dims.back(), n = p.num_elements() / classes;
  const Value logits = Log(b, CutProbabilities(b, Reshape(b, call.tensors[1], {n, classes})));
  EvalMetric metric =
      call.MeanOf(Reshape(b, SparseSoftmaxCrossEntropy(b, logits, Reshape(b, ids, {n})), places));
  return OfProbabilities(call, std::move(metric), call.tensors[1], /*of_classes=*/true);
}

// ---- cosine_similarity (Keras CosineSimilarity): y p / (|y| |p|), each length at least 1e-6.

EvalMetric BuildCosineSimilarity(MetricCall& call) {
  const auto [y, p] = SameShape(call);
  if (!y.valid()) return {};
  GraphBuilder& b = call.b();
  if (b.shape(p).rank() < 2) {
    return call.Fail(
        absl::StrCat("predictions must be vectors f32[N,D], got ", BatchShapeText(b.shape(p))));
  }
  const auto inverse_length = [&b](Value x) {
    return Rsqrt(b, Maximum(b, DotProduct(b, x, x), Scalar(b, 1e-12)));
  };
  return call.MeanOf(Mul(b, DotProduct(b, y, p), Mul(b, inverse_length(y), inverse_length(p))));
}

}  // namespace tpurun
