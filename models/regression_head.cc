// regression: logits z (N, D) or (N), label y of the same shape. Loss: mean squared error of z and
// (y - mean) / stddev. Prediction: `predictions`, z stddev + mean. Metrics in the unit of the
// label; average_loss is in that of the loss.
#include <cmath>

#include "models/head_call.h"
#include "models/heads.h"
#include "models/metrics.h"
#include "proto/one_of.h"

namespace tpurun {
namespace {

// y = z stddev + mean.
struct LabelScale {
  Value mean, stddev;  // of each column, or scalars for logits (N); invalid: 0, 1

  Value ToLabel(GraphBuilder& b, Value logits) const {
    const Value scaled = stddev.valid() ? Mul(b, logits, stddev) : logits;
    return mean.valid() ? Add(b, scaled, mean) : scaled;
  }
  Value ToLogits(GraphBuilder& b, Value label) const {
    const Value moved = mean.valid() ? Sub(b, label, mean) : label;
    return stddev.valid() ? Div(b, moved, stddev) : moved;
  }
};

LabelScale ScaleOf(const HeadCall& call, const proto::RegressionHead& args) {
  GraphBuilder& b = call.m.b;
  const std::vector<int64_t> dims = b.shape(call.logits).dims;
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  const auto scale = [&](const std::string& field,
                         const google::protobuf::RepeatedField<float>& values) {
    const Value row = PerClass(call, field, values, last == 0 ? 1 : dims[last], "column");
    return row.valid() && last == 0 ? Reshape(b, row, {}) : row;
  };
  return {scale("label_mean", args.label_mean()), scale("label_stddev", args.label_stddev())};
}

// Errors are those of the logits and the normalized label, in the unit of the label: of labels that
// are far from 0 the predictions have too few digits. `scaled` has the normalized label.
void AddRegressionMetrics(const HeadCall& call, const HeadCall& scaled, const LabelScale& scale,
                          const LossTerm& loss, Value predictions) {
  GraphBuilder& b = call.m.b;
  const auto labels = [&](ConfigErrors& errors) {
    return LabelsLike(b, call.label, predictions, "logits", errors);
  };
  AddMeanMetric(call, loss, "average_loss", [&](ConfigErrors&) { return loss.elements; });
  AddMeanMetric(call, loss, "label/mean", labels);
  const auto in_unit = [&](Value error) {
    return scale.stddev.valid() ? Mul(b, error, scale.stddev) : error;
  };
  AddMeanMetric(call, loss, "mean_absolute_error", [&](ConfigErrors& errors) {
    return in_unit(AbsoluteErrorValues(b, scaled.label, call.logits, errors));
  });
  AddMeanMetric(call, loss, "prediction/mean", [&](ConfigErrors&) { return predictions; });
  AddMeanMetric(call, loss, "root_mean_squared_error",
                [&](ConfigErrors& errors) {
                  const Value label = LabelsLike(b, scaled.label, call.logits, "logits", errors);
                  return Square(b, in_unit(Sub(b, call.logits, label)));
                },
                {[](double mean) { return std::sqrt(mean); },
                 [](GraphBuilder& b, Value mean) { return Sqrt(b, mean); }});
  if (!call.m.purpose.evaluate) return;
  const proto::MetricArgs none;
  AddListedMetric(call, loss, "r2_score", "r2_score", none, scaled.label, call.logits);
}

}  // namespace

void BuildRegressionHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::RegressionHead& args = head.regression();
  GraphBuilder& b = m.b;
  HeadCall call{m, place, head, "regression"};
  if (!FindTensors(call, args.logits(), args.label())) return;
  LabelScale scale;
  if (call.logits.valid() && b.shape(call.logits).rank() > 0) scale = ScaleOf(call, args);
  const auto predictions = [&] {
    ScopedName scope(b, "predictions");
    return scale.ToLabel(b, call.logits);
  };
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  HeadCall scaled = call;
  if (call.logits.valid() && call.label.valid() && m.purpose.has_losses()) {
    const ScopedOrigins origins(b, kLossOrigin, NodeOrigin::Phase::kForward);
    ConfigErrors misfit;  // the loss reports it
    const Value label = LabelsLike(b, call.label, call.logits, "logits", misfit);
    if (label.valid()) scaled.label = scale.ToLogits(b, label);
  }
  if (const auto loss = AddLoss(scaled, *FindByName(LossList(), "mean_squared_error"), loss_args)) {
    AddRegressionMetrics(call, scaled, scale, *loss, predictions());
  }
  if (!m.purpose.has_predictions() || !call.logits.valid()) return;
  const Value predicted = predictions();
  m.AddPrediction(place, call.Key("predictions"), predicted);
  m.export_outputs.push_back({ExportOutput::Kind::kRegression, predicted});
}

}  // namespace tpurun
