// classification: logits (N, C), C > 1; label (N) or (N,1), class ids. Loss: sparse softmax cross
// entropy. Predictions: class_ids s64 (N,1), classes (their names, if there are any), probabilities
// (N,C), logits (N,C). Metrics: accuracy, average_loss; for two classes those of TensorFlow's
// binary head.
//
// One logit z (N,1) is TensorFlow's binary head: the probability of class 1 is sigmoid(z). Loss:
// sigmoid cross entropy. Probabilities are (N,2), the softmax of the logits (0, z); class_ids is
// the class with the larger logit, or 0 if both are equal. There is also the prediction logistic
// (N,1).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "models/head_call.h"
#include "models/heads.h"
#include "models/metrics.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// True if there is one logit for two classes.
bool HasOneLogit(const HeadCall& call) {
  return call.logits.valid() && call.m.b.shape(call.logits).dims.back() == 1;
}

// Returns (0, z).
Value TwoLogits(GraphBuilder& b, Value logit) {
  ScopedName scope(b, "two_class_logits");
  return Pad(b, logit, {0, 1}, {0, 0});
}

// Adds the metrics of two classes. `score` is larger for class 1, whose probability is
// `probability`, both (N,1); class 1 is predicted where the score is above 0. `targets` is the
// label as f32.
void AddBinaryMetrics(const HeadCall& call, const LossTerm& loss, Value targets, Value score,
                      Value probability) {
  GraphBuilder& b = call.m.b;
  const auto labels = [&](ConfigErrors& errors) {
    return LabelsLike(b, targets, score, "logits", errors);
  };
  // The loss of two logits is (N), its weights too; predictions are (N,1).
  LossTerm of_scores = loss;
  if (loss.weights.valid()) of_scores.weights = AlignTo(b, loss.weights, b.shape(score));
  AddMeanMetric(
      call, of_scores, "accuracy_baseline", labels,
      {[](double mean) { return std::max(mean, 1 - mean); },
       [](GraphBuilder& b, Value mean) { return Maximum(b, mean, Sub(b, Scalar(b, 1), mean)); }});
  AddMeanMetric(call, loss, "average_loss", [&](ConfigErrors&) { return loss.elements; });
  AddMeanMetric(call, of_scores, "label/mean", labels);
  AddMeanMetric(call, of_scores, "prediction/mean", [&](ConfigErrors&) { return probability; });
  if (!call.m.purpose.evaluate) return;
  const Value ids = Convert(b, Greater(b, score, Scalar(b, 0)), DType::kF32);
  const proto::MetricArgs none;
  proto::MetricArgs of_precision_recall;
  of_precision_recall.set_curve(proto::MetricArgs::PR);
  AddListedMetric(call, of_scores, "auc", "auc", none, targets, probability);
  AddListedMetric(call, of_scores, "auc_precision_recall", "auc", of_precision_recall, targets,
                  probability);
  AddListedMetric(call, of_scores, "precision", "precision", none, targets, ids);
  AddListedMetric(call, of_scores, "recall", "recall", none, targets, ids);
}

// True if the label has class ids. Reports another label.
bool CheckLabel(const HeadCall& call) {
  ConfigErrors errors;
  const bool fits = CheckClassIds(call.m.b.shape(call.label), errors);
  call.m.errors.Add(FieldPlace(call.place, call.kind), errors);
  return fits;
}

// Adds the loss and the metrics of a head with one logit.
void AddOneLogit(const HeadCall& call, proto::LossArgs args) {
  GraphBuilder& b = call.m.b;
  const proto::ClassificationHead& head = call.head.classification();
  if (head.has_pos_weight()) args.add_pos_weight(head.pos_weight());
  if (!call.label.valid() || !CheckLabel(call)) return;
  HeadCall of_targets = call;
  {
    const ScopedOrigins origins(b, kLossOrigin, NodeOrigin::Phase::kForward);
    of_targets.label = BinaryTargets(b, call.label);
  }
  const LossDef& loss = *FindByName(LossList(), "sigmoid_cross_entropy");
  const auto term = AddLoss(of_targets, loss, args, ClassWeights(call, head.class_weight(), 2));
  if (!term.has_value()) return;
  AddMeanMetric(call, *term, "accuracy", [&](ConfigErrors& errors) {
    const Value ids = Convert(b, Greater(b, call.logits, Scalar(b, 0)), DType::kS64);
    return AccuracyValues(b, call.label, ids, errors);
  });
  AddBinaryMetrics(call, *term, of_targets.label, call.logits, Sigmoid(b, call.logits));
}

// Adds the loss and the metrics of a head with a logit for each class.
void AddLogits(const HeadCall& call, const proto::LossArgs& args) {
  GraphBuilder& b = call.m.b;
  const proto::ClassificationHead& head = call.head.classification();
  if (!call.logits.valid()) return;
  if (head.has_pos_weight()) {
    call.Fail("pos_weight",
              "pos_weight is for one logit; with a logit for each class use class_weight");
  }
  const std::vector<int64_t> dims = b.shape(call.logits).dims;
  const Value class_weights = ClassWeights(call, head.class_weight(), dims[1]);
  const auto loss =
      AddLoss(call, *FindByName(LossList(), "sparse_softmax_cross_entropy"), args, class_weights);
  if (!loss.has_value()) return;
  AddMeanMetric(call, *loss, "accuracy", [&](ConfigErrors& errors) {
    return AccuracyValues(b, call.label, call.logits, errors);
  });
  if (dims[1] != 2) {
    return AddMeanMetric(call, *loss, "average_loss",
                         [&](ConfigErrors&) { return loss->elements; });
  }
  const auto column = [&](Value x, int64_t i) { return Slice(b, x, {0, i}, {dims[0], 1}); };
  const Value score = Sub(b, column(call.logits, 1), column(call.logits, 0));
  AddBinaryMetrics(call, *loss, BinaryTargets(b, call.label), score,
                   column(Softmax(b, call.logits), 1));
}

void AddPredictions(const HeadCall& call) {
  ModelContext& m = call.m;
  GraphBuilder& b = m.b;
  const proto::ClassificationHead& args = call.head.classification();
  const Value scores = HasOneLogit(call) ? TwoLogits(b, call.logits) : call.logits;
  const int64_t rows = b.shape(scores).dims[0];
  ScopedName scope(b, "predictions");
  const Value ids = Reshape(b, ArgMax(b, scores, 1, DType::kS64), {rows, 1}, "class_ids");
  m.AddPrediction(call.place, call.Key("class_ids"), ids);
  const auto& names = args.label_vocabulary();
  if (!names.empty()) {
    m.AddPrediction(call.place, call.Key("classes"), ids);
    m.class_names[call.Key("classes")] = {names.begin(), names.end()};
  }
  const Value probabilities = Softmax(b, scores, "probabilities");
  m.AddPrediction(call.place, call.Key("probabilities"), probabilities);
  m.AddPrediction(call.place, call.Key("logits"), call.logits);
  m.export_outputs.push_back({.kind = ExportOutput::Kind::kClassification,
                              .value = probabilities,
                              .label = args.label(),
                              .class_names = {names.begin(), names.end()}});
  if (!HasOneLogit(call)) return;
  const Value logistic = Sigmoid(b, call.logits);
  m.AddPrediction(call.place, call.Key("logistic"), logistic);
  m.export_outputs.push_back({ExportOutput::Kind::kRegression, logistic});
}

}  // namespace

void BuildClassificationHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::ClassificationHead& args = head.classification();
  HeadCall call{m, place, head, "classification"};
  if (!FindTensors(call, args.logits(), args.label())) return;
  const WantedLogits want = {.one_logit = true,
                             .text = "f32[N,C], one value for each class, or f32[N,1] for two"};
  if (!CheckLogits(call, args.logits(), want, HasOneLogit(call) ? "sigmoid" : "softmax")) return;
  if (call.logits.valid()) {
    const int64_t classes = HasOneLogit(call) ? 2 : m.b.shape(call.logits).dims[1];
    CheckVocabulary(call, args.label_vocabulary(), classes);
  }
  CheckNamesOfLabel(call, args.label(), args.label_vocabulary());
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  loss_args.set_label_smoothing(args.label_smoothing());
  if (HasOneLogit(call)) {
    AddOneLogit(call, loss_args);
  } else {
    AddLogits(call, loss_args);
  }
  if (m.purpose.has_predictions() && call.logits.valid()) AddPredictions(call);
}

}  // namespace tpurun
