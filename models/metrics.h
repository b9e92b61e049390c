// Metrics of an evaluation. They are computed from sums over all rows, so they do not depend on the
// batch size.
#ifndef TPURUN_MODELS_METRICS_H_
#define TPURUN_MODELS_METRICS_H_

#include <optional>
#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// The arguments of MetricDef::build.
struct MetricCall {
  ModelContext& m;
  const ConfigPlace& place;
  std::string name;  // the name of the row in MetricList()
  const proto::MetricArgs& args;
  // The tensors that the fields labels, predictions and values name, in this order, as far as the
  // metric has these fields. Shape (batch, ...).
  std::vector<Value> tensors;
  // Weights in the shape of the predictions that replace the weights named by `args` and the mask.
  // An invalid Value means that each weight is 1. nullopt: the weights named by `args`.
  std::optional<Value> weights = std::nullopt;
  Value mask = {};           // as Tensor::mask, of the predictions or values
  Value counted = {};        // as Tensor::counted, of the labels
  ConfigErrors errors = {};  // its paths are relative to `args`

  GraphBuilder& b() const { return m.b; }
  // Returns the weights as f32 in the shape of `like`, 0 at padding positions, or an invalid Value
  // if each weight is 1.
  Value Weights(Value like) const;
  // Returns the weighted mean of `values`. An EvalMetric without statistics if they are invalid.
  EvalMetric MeanOf(Value values) const;
  // f32[batch]: the sums of the values x, f32 (N, ...), whose weight is not 0.
  Value SumOfCounted(Value x) const;
  // Returns the metric, which is not defined for values at which `undefined`, pred (N, ...), is
  // true and whose weight is not 0. `wanted` is as EvalMetric::wanted.
  EvalMetric DefinedFor(EvalMetric metric, Value undefined, std::string wanted) const;
  // Adds an error for a field of `args`, or for `args` as a whole if `field` is empty. Returns an
  // EvalMetric without statistics.
  EvalMetric Fail(const std::string& message, const std::string& field = "");
};

// One row of the table in metrics.cc.
struct MetricDef {
  std::string name;                       // the metric's field in proto Metric's oneof
  EvalMetric (*build)(MetricCall& call);  // the result has no name yet
};

const std::vector<MetricDef>& MetricList();

// Returns 1 for each prediction that equals its label and 0 for the others. Labels are class ids,
// (N, ...). Predictions are class ids of that shape, or logits or probabilities, f32 (N, ..., C)
// with C > 1, of which the largest is the prediction. Shapes may differ by a last dimension of 1.
// Adds an error if labels or predictions are something else.
Value AccuracyValues(GraphBuilder& b, Value labels, Value predictions, ConfigErrors& errors);
// Returns |p - y| in the shape of the predictions. Adds an error if the shapes do not fit.
Value AbsoluteErrorValues(GraphBuilder& b, Value labels, Value predictions, ConfigErrors& errors);

// Returns the weighted mean of `values` over all rows of the evaluation, sum(w v) / sum(w), or 0 if
// the sum of the weights is 0. `weights` has the shape of `values`; if it is invalid, each weight
// is 1.
EvalMetric MeanMetric(GraphBuilder& b, Value values, Value weights, Value row_weight);

// Returns the weighted mean of `values` over one core's rows, f32[], or 0 if the sum of the weights
// is 0.
Value BatchMean(GraphBuilder& b, Value values, Value weights);

// Builds the model's own `eval_metric` entries. EVAL only.
void BuildMetrics(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_METRICS_H_
