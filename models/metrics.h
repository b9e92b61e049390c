// Metrics of the evaluation: ratios of sums over all rows, whatever the batch.
#ifndef TPURUN_MODELS_METRICS_H_
#define TPURUN_MODELS_METRICS_H_

#include <optional>
#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// What a metric is built of.
struct MetricCall {
  ModelContext& m;
  const ConfigPlace& place;
  std::string name;  // of the row
  const proto::MetricArgs& args;
  // (batch, ...), of the tensors that the row's fields labels, predictions and values name, in that
  // order.
  std::vector<Value> tensors;
  // Instead of those that `args` names, of the shape of predictions; invalid: 1 each.
  std::optional<Value> weights = std::nullopt;

  GraphBuilder& b() const { return m.b; }
  // The weights as f32 of the shape of `like`; invalid without any: 1 each.
  Value Weights(Value like) const;
  // Reports what does not fit, of a field of `args` or of them all; returns no metric.
  EvalMetric Fail(const std::string& mistake, const std::string& field = "");
};

// One row of the table in metrics.cc.
struct MetricDef {
  std::string name;                       // of its field in proto Metric's oneof
  EvalMetric (*build)(MetricCall& call);  // without its name
};

const std::vector<MetricDef>& MetricList();

// 1 where the prediction is the label, else 0. labels (N) or (N,1), whole; predictions of that
// shape (class ids), or f32 (N, C), C > 1 (logits or probabilities): the largest is the prediction.
Value AccuracyValues(GraphBuilder& b, Value labels, Value predictions, std::string* mistake);
// |p - y|, of the predictions' shape.
Value AbsoluteErrorValues(GraphBuilder& b, Value labels, Value predictions, std::string* mistake);

// The weighted mean of `values` over all rows, sum(w v) / sum(w), 0 when no weight counts;
// `weights` has their shape, or is invalid: 1 each.
EvalMetric MeanMetric(GraphBuilder& b, Value values, Value weights, Value row_weight);

// The same of one core's rows, f32[]; 0 when no weight counts.
Value BatchMean(GraphBuilder& b, Value values, Value weights);

// The model's own `eval_metric` entries. EVAL only.
void BuildMetrics(ModelContext& m);

}  // namespace tpurun

#endif  // TPURUN_MODELS_METRICS_H_
