// sequence: logits (N, T, C) or (N, H, W, C), C > 1; label (N, T) or (N, H, W), class ids. Loss:
// sparse softmax cross entropy at every position. Predictions: class_ids s64 in the label's shape,
// classes (their names, if there are any), probabilities and logits in that of the logits. Metrics:
// accuracy; average_loss, the weighted mean of the loss; perplexity = exp(l) and bits_per_character
// = l / ln 2, where l is that mean without label_smoothing.
#include <cmath>
#include <numbers>

#include "models/head_call.h"
#include "models/heads.h"
#include "models/metrics.h"
#include "proto/one_of.h"

namespace tpurun {
namespace {

void AddSequenceMetrics(const HeadCall& call, const LossDef& loss_def, const proto::LossArgs& args,
                        const LossTerm& loss) {
  AddMeanMetric(call, loss, "accuracy", [&](ConfigErrors& errors) {
    return AccuracyValues(call.m.b, call.label, call.logits, errors);
  });
  AddMeanMetric(call, loss, "average_loss", [&](ConfigErrors&) { return loss.elements; });
  const auto cross_entropy = [&](ConfigErrors& errors) {
    if (args.label_smoothing() == 0) return loss.elements;
    const proto::LossArgs plain;
    LossCall loss_call{.b = call.m.b,
                       .labels = call.label,
                       .predictions = call.logits,
                       .args = plain,
                       .errors = errors};
    return loss_def.build(loss_call);
  };
  AddMeanMetric(call, loss, "perplexity", cross_entropy,
                {[](double mean) { return std::exp(mean); }, Exp});
  AddMeanMetric(
      call, loss, "bits_per_character", cross_entropy,
      {[](double mean) { return mean / std::numbers::ln2; },
       [](GraphBuilder& b, Value mean) { return Mul(b, mean, Scalar(b, 1 / std::numbers::ln2)); }});
}

}  // namespace

void BuildSequenceHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::SequenceHead& args = head.sequence();
  HeadCall call{m, place, head, "sequence"};
  if (!FindTensors(call, args.logits(), args.label())) return;
  const WantedLogits want = {
      .rank = 3,
      .max_rank = 4,
      .text = "f32[N,T,C] or f32[N,H,W,C], one value for each class at each position"};
  if (!CheckLogits(call, args.logits(), want, "softmax")) return;
  const auto& names = args.label_vocabulary();
  if (call.logits.valid()) CheckVocabulary(call, names, m.b.shape(call.logits).dims.back());
  CheckNamesOfLabel(call, args.label(), names);
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  loss_args.set_label_smoothing(args.label_smoothing());
  const LossDef& loss_def = *FindByName(LossList(), "sparse_softmax_cross_entropy");
  Value class_weights;
  if (call.logits.valid()) {
    class_weights = ClassWeights(call, args.class_weight(), m.b.shape(call.logits).dims.back());
  }
  if (const auto loss = AddLoss(call, loss_def, loss_args, class_weights)) {
    AddSequenceMetrics(call, loss_def, loss_args, *loss);
  }
  if (!m.purpose.has_predictions() || !call.logits.valid()) return;
  ScopedName scope(m.b, "predictions");
  const Value ids = ArgMax(m.b, call.logits, m.b.shape(call.logits).rank() - 1, DType::kS64);
  m.AddPrediction(place, call.Key("class_ids"), ids);
  if (!names.empty()) {
    m.AddPrediction(place, call.Key("classes"), ids);
    m.class_names[call.Key("classes")] = {names.begin(), names.end()};
  }
  m.AddPrediction(place, call.Key("probabilities"), Softmax(m.b, call.logits, "probabilities"));
  m.AddPrediction(place, call.Key("logits"), call.logits);
}

}  // namespace tpurun
