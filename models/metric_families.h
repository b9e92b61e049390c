// The functions that the rows of the table in metrics.cc point to, grouped by the .cc file that
// defines them, and what these files share.
#ifndef TPURUN_MODELS_METRIC_FAMILIES_H_
#define TPURUN_MODELS_METRIC_FAMILIES_H_

#include <span>
#include <utility>

#include "models/metrics.h"

namespace tpurun {

// class_metrics.cc: labels and predictions are class ids.
EvalMetric BuildAccuracy(MetricCall& call);
EvalMetric BuildConfusionMatrix(MetricCall& call);
EvalMetric BuildInTopK(MetricCall& call);
EvalMetric BuildMatthewsCorrelation(MetricCall& call);
EvalMetric BuildMeanIou(MetricCall& call);
// decision_metrics.cc: labels and predictions are positive or not.
EvalMetric BuildAuc(MetricCall& call);
EvalMetric BuildF1Score(MetricCall& call);
EvalMetric BuildPrecision(MetricCall& call);
EvalMetric BuildRecall(MetricCall& call);
// mean_metrics.cc: functions of means over rows.
EvalMetric BuildBinaryCrossentropy(MetricCall& call);
EvalMetric BuildCosineSimilarity(MetricCall& call);
EvalMetric BuildMean(MetricCall& call);
EvalMetric BuildMeanAbsoluteError(MetricCall& call);
EvalMetric BuildMeanSquaredError(MetricCall& call);
EvalMetric BuildR2Score(MetricCall& call);
EvalMetric BuildRootMeanSquaredError(MetricCall& call);
EvalMetric BuildSparseCategoricalCrossentropy(MetricCall& call);

// ---- shared

// sums[0] / sums[1], or 0 if the divisor is 0.
double Ratio(std::span<const double> sums);

// values * weights; an invalid `weights` means that each weight is 1.
Value Weighted(GraphBuilder& b, Value values, Value weights);

// x (N, ..., K) -> (N, K): the sums of each row over the dimensions between, 0 for a padding row.
Value SumsOfColumns(GraphBuilder& b, Value x, Value row_weight);

// Repeats x (N, ...) K times along a new last axis.
Value AlongColumns(GraphBuilder& b, Value x, int64_t columns);

// Returns the labels and predictions as f32 in one shape. If the shapes do not fit, adds an error
// and returns an invalid pair.
std::pair<Value, Value> SameShape(MetricCall& call);

// True if the predictions are one value for each class, not class ids.
bool AreLogits(const Shape& predictions);

// Returns the metric of the probabilities p (N, ...), or p (N, ..., C) of classes, which is not
// defined for other numbers, and NaN if any of them is.
EvalMetric OfProbabilities(const MetricCall& call, EvalMetric metric, Value p,
                           bool of_classes = false);

// Returns the class ids of labels and predictions as s64 in one shape. Adds an error and returns an
// invalid pair if they are not class ids.
std::pair<Value, Value> ClassIds(GraphBuilder& b, Value labels, Value predictions,
                                 ConfigErrors& errors);

// Returns the number of classes of the predictions: the last dimension of logits, else num_classes.
// Returns 0 after a mistake, which is reported.
int64_t NumClasses(MetricCall& call);

}  // namespace tpurun

#endif  // TPURUN_MODELS_METRIC_FAMILIES_H_
