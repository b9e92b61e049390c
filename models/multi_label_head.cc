// multi_label: logits (N, C), label (N, C) of 0 and 1. Loss: for each row the mean over its classes
// of the sigmoid cross entropies, weighted by row. Predictions: probabilities, the sigmoids, and
// logits, (N, C) each. Metrics: average_loss, auc and auc_precision_recall over all classes of all
// rows. As in tf.estimator.MultiLabelHead.
#include "models/head_call.h"
#include "models/heads.h"
#include "models/metrics.h"
#include "proto/one_of.h"

namespace tpurun {

void BuildMultiLabelHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::MultiLabelHead& args = head.multi_label();
  GraphBuilder& b = m.b;
  HeadCall call{m, place, head, "multi_label"};
  if (!FindTensors(call, args.logits(), args.label())) return;
  const WantedLogits want = {.one_logit = true, .text = "f32[N,C], one value for each class"};
  if (!CheckLogits(call, args.logits(), want, "sigmoid")) return;
  if (call.logits.valid())
    CheckVocabulary(call, args.label_vocabulary(), b.shape(call.logits).dims[1]);
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  loss_args.set_label_smoothing(args.label_smoothing());
  *loss_args.mutable_pos_weight() = args.pos_weight();
  if (call.label.valid() && IsWhole(b.shape(call.label).dtype)) {
    const ScopedOrigins origins(b, kLossOrigin, NodeOrigin::Phase::kForward);
    call.label = BinaryTargets(b, call.label);
  }
  // One loss for each row: its weight is that of the row.
  const LossDef of_rows = {"sigmoid_cross_entropy", [](LossCall& loss_call) {
                             const LossDef& def = *FindByName(LossList(), "sigmoid_cross_entropy");
                             const Value elements = def.build(loss_call);
                             return elements.valid() ? ReduceMean(loss_call.b, elements, {1})
                                                     : elements;
                           }};
  const auto loss = AddLoss(call, of_rows, loss_args);
  if (!call.logits.valid()) return;
  const auto probabilities = [&] { return Sigmoid(b, call.logits); };
  if (loss.has_value()) {
    AddMeanMetric(call, *loss, "average_loss", [&](ConfigErrors&) { return loss->elements; });
    const proto::MetricArgs none;
    LossTerm of_classes = *loss;
    if (loss->weights.valid()) {
      of_classes.weights = Broadcast(b, loss->weights, b.shape(call.logits).dims, {0});
    }
    proto::MetricArgs of_precision_recall;
    of_precision_recall.set_curve(proto::MetricArgs::PR);
    AddListedMetric(call, of_classes, "auc", "auc", none, call.label, probabilities());
    AddListedMetric(call, of_classes, "auc_precision_recall", "auc", of_precision_recall,
                    call.label, probabilities());
  }
  if (!m.purpose.has_predictions()) return;
  ScopedName scope(b, "predictions");
  const Value predicted = probabilities();
  m.AddPrediction(place, call.Key("probabilities"), predicted);
  m.AddPrediction(place, call.Key("logits"), call.logits);
  const auto& names = args.label_vocabulary();
  m.export_outputs.push_back({.kind = ExportOutput::Kind::kClassification,
                              .value = predicted,
                              .class_names = {names.begin(), names.end()}});
}

}  // namespace tpurun
