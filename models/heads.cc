#include "models/heads.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metrics.h"
#include "models/summaries.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The tensors of a head. A tensor that is not known in this mode is invalid.
struct HeadTensors {
  Value logits;
  Value label;
  Value mask;  // the mask of the logits
};

// Sets `tensors`. Reports mistakes and then returns false.
bool Resolve(ModelContext& m, const ConfigPlace& place, const std::string& kind,
             const std::string& logits, const std::string& label, HeadTensors& tensors) {
  const Tensor* logits_tensor = m.Argument(place, kind + ".logits", logits);
  const Tensor* label_tensor = m.Argument(place, kind + ".label", label);
  if (logits_tensor == nullptr || label_tensor == nullptr) return false;
  if (logits_tensor->state == Tensor::State::kBroken) return false;
  if (label_tensor->state == Tensor::State::kBroken) return false;
  if (logits_tensor->known()) tensors.logits = logits_tensor->value;
  if (logits_tensor->known()) tensors.mask = logits_tensor->mask;
  if (label_tensor->known()) tensors.label = label_tensor->value;
  // Predictions must not depend on labels, even if an input has labels.
  if (!m.purpose.has_losses() && logits_tensor->from_label) tensors.logits = {};
  return true;
}

// Returns the full name of a prediction or metric of the head.
std::string KeyOf(const proto::Head& head, const std::string& name) {
  return head.name().empty() ? name : absl::StrCat(head.name(), "/", name);
}

// The arguments that a head's loss and metrics share.
struct HeadCall {
  ModelContext& m;
  const ConfigPlace& place;
  const proto::Head& head;
  std::string kind;  // the head's field in the oneof
  HeadTensors tensors;
};

// Adds the loss of (labels, logits), with its weights, to the model and returns it. Returns nullopt
// if labels or logits are not known, if the purpose needs no loss, or after a mistake.
std::optional<LossTerm> AddLoss(const HeadCall& call, const LossDef& loss,
                                const proto::LossArgs& args) {
  ModelContext& m = call.m;
  const HeadTensors& tensors = call.tensors;
  if (!tensors.logits.valid() || !tensors.label.valid() || !m.purpose.has_losses())
    return std::nullopt;
  const ScopedOrigins origins(m.b, kLossOrigin, NodeOrigin::Phase::kForward);
  LossTerm term{.name = absl::StrCat(loss.name, "_loss")};
  ConfigErrors errors;
  LossCall loss_call{.b = m.b,
                     .labels = tensors.label,
                     .predictions = tensors.logits,
                     .args = args,
                     .errors = errors};
  {
    ScopedName scope(m.b, term.name);
    term.elements = loss.build(loss_call);
  }
  m.errors.Add(FieldPlace(call.place, call.kind), errors);
  if (!errors.empty()) return std::nullopt;
  term.weights = WeightsLike(m, call.place, call.kind + ".weights", args.weights(), term.elements);
  term.weights = MaskedWeights(m.b, term.weights, tensors.mask, term.elements);
  m.losses.push_back(term);
  return term;
}

// A function of a mean, on the host and in a graph. nullptr: the mean itself.
struct OfMean {
  double (*number)(double mean) = nullptr;
  Value (*value)(GraphBuilder& b, Value mean) = nullptr;
};

// Adds the metric of_mean(mean of values_of()), with the weights of the loss. In training it is
// only computed if a summary reads it.
void AddMetric(const HeadCall& call, const LossTerm& loss, const std::string& name,
               const std::function<Value(ConfigErrors& errors)>& values_of, OfMean of_mean = {}) {
  ModelContext& m = call.m;
  const std::string metric = KeyOf(call.head, name);
  if (m.purpose.train) m.batch_metrics[metric] = {};
  const bool summarized = m.purpose.train && IsSummarized(m.spec, metric);
  if (!summarized && !m.purpose.evaluate) return;
  ScopedName scope(m.b, absl::StrCat("metrics/", metric));
  const ScopedOrigins origins(m.b, kMetricsOrigin, NodeOrigin::Phase::kOutput);
  ConfigErrors errors;
  const Value values = values_of(errors);
  m.errors.Add(FieldPlace(call.place, call.kind), errors);
  if (!errors.empty()) return;
  if (summarized) {
    const Value mean = BatchMean(m.b, values, loss.weights);
    m.batch_metrics[metric] = of_mean.value == nullptr ? mean : of_mean.value(m.b, mean);
  }
  if (!m.purpose.evaluate) return;
  EvalMetric mean = MeanMetric(m.b, values, loss.weights, m.row_weight);
  mean.name = metric;
  if (of_mean.number != nullptr) {
    mean.result = [result = mean.result, number = of_mean.number](std::span<const double> sums) {
      return number(result(sums).values[0]);
    };
  }
  m.AddMetric(call.place, std::move(mean));
}

// The same for a function of labels and logits.
void AddMetric(const HeadCall& call, const LossTerm& loss, const std::string& name,
               Value (*values_of)(GraphBuilder&, Value, Value, ConfigErrors&)) {
  AddMetric(call, loss, name, [&](ConfigErrors& errors) {
    return values_of(call.m.b, call.tensors.label, call.tensors.logits, errors);
  });
}

// EVAL: adds the metric `name` of MetricList() for (labels, predictions), with the weights of the
// loss.
void AddMetric(const HeadCall& call, const LossTerm& loss, const std::string& name, Value labels,
               Value predictions) {
  ModelContext& m = call.m;
  const proto::MetricArgs args;
  MetricCall metric_call{.m = m,
                         .place = call.place,
                         .name = call.kind,
                         .args = args,
                         .tensors = {labels, predictions},
                         .weights = loss.weights};
  ScopedName scope(m.b, absl::StrCat("metrics/", KeyOf(call.head, name)));
  const ScopedOrigins origins(m.b, kMetricsOrigin, NodeOrigin::Phase::kOutput);
  EvalMetric metric = FindByName(MetricList(), name)->build(metric_call);
  m.errors.Add(FieldPlace(call.place, call.kind), metric_call.errors);
  metric.name = KeyOf(call.head, name);
  m.AddMetric(call.place, std::move(metric));
}

// True if there is one logit for two classes.
bool IsBinary(const HeadCall& call) {
  const Value logits = call.tensors.logits;
  return logits.valid() && call.m.b.shape(logits).dims.back() == 1;
}

// True if the logits are f32 with `rank` dimensions and at least two classes, or one logit if
// `binary`. Reports other logits. Warns if the logits are probabilities already.
bool CheckLogits(const HeadCall& call, const std::string& name, int rank, bool binary,
                 const std::string& want) {
  const Value logits = call.tensors.logits;
  if (!logits.valid()) return true;
  ModelContext& m = call.m;
  const std::string field = call.kind + ".logits";
  const Shape shape = m.b.shape(logits);
  const auto got = [&] { return absl::StrCat(Quote(name), " of ", BatchShapeText(shape)); };
  if (shape.dtype != DType::kF32 || shape.rank() != rank) {
    m.errors.Add(call.place, field, absl::StrCat("logits must be ", want, ", got ", got()));
    return false;
  }
  if (IsBinary(call) && !binary) {
    m.errors.Add(call.place, field,
                 absl::StrCat("a ", call.kind, " of one logit is not supported yet, got ", got(),
                              "; use one logit for each of the two classes"));
    return false;
  }
  const std::string function = IsBinary(call) ? "sigmoid" : "softmax";
  if (m.purpose.has_losses() && m.b.graph().node(logits).op->name == function) {
    m.errors.Warn(call.place, field,
                  absl::StrCat(Quote(name), " is the result of a ", function,
                               ", and the head takes one itself; want the values before it, "
                               "activation: LINEAR"));
  }
  return true;
}

const LossDef& SparseSoftmaxCrossEntropyLoss() {
  return *FindByName(LossList(), "sparse_softmax_cross_entropy");
}

// ---- classification: logits (N, C), C > 1; label (N) or (N,1), class ids. Loss: sparse softmax
// cross entropy. Predictions: class_ids s64 (N,1), probabilities (N,C), logits (N,C). Metric:
// accuracy.
// One logit z (N,1) is TensorFlow's binary head: the probability of class 1 is sigmoid(z). Loss:
// sigmoid cross entropy. Probabilities are (N,2), the softmax of the logits (0, z); class_ids is
// the class with the larger logit, or 0 if both are equal. There is also the prediction logistic
// (N,1), and the metrics are those of TensorFlow's binary head.

// Returns (0, z).
Value TwoLogits(GraphBuilder& b, Value logit) {
  ScopedName scope(b, "two_class_logits");
  return Pad(b, logit, {0, 1}, {0, 0});
}

// Returns the label as f32, 0 or 1. It is read from a table, so that the check of the input finds
// any other label; without that check such a label becomes NaN.
Value BinaryTargets(GraphBuilder& b, Value label) {
  const Value table = Convert(b, ConstantInt(b, DType::kS32, {2}, {0, 1}), DType::kF32);
  return Gather(b, table, label, 0, "targets");
}

// `targets` is the label as f32.
void AddBinaryMetrics(const HeadCall& call, const LossTerm& loss, Value targets) {
  GraphBuilder& b = call.m.b;
  const Value logits = call.tensors.logits;
  const auto ids = [&](DType dtype) { return Convert(b, Greater(b, logits, Scalar(b, 0)), dtype); };
  const auto labels = [&](ConfigErrors& errors) {
    return LabelsLike(b, targets, logits, "logits", errors);
  };
  AddMetric(call, loss, "accuracy", [&](ConfigErrors& errors) {
    return AccuracyValues(b, call.tensors.label, ids(DType::kS64), errors);
  });
  AddMetric(
      call, loss, "accuracy_baseline", labels,
      {[](double mean) { return std::max(mean, 1 - mean); },
       [](GraphBuilder& b, Value mean) { return Maximum(b, mean, Sub(b, Scalar(b, 1), mean)); }});
  AddMetric(call, loss, "average_loss", [&](ConfigErrors&) { return loss.elements; });
  AddMetric(call, loss, "label/mean", labels);
  AddMetric(call, loss, "prediction/mean", [&](ConfigErrors&) { return Sigmoid(b, logits); });
  if (!call.m.purpose.evaluate) return;
  AddMetric(call, loss, "auc", targets, Sigmoid(b, logits));
  AddMetric(call, loss, "precision", targets, ids(DType::kF32));
  AddMetric(call, loss, "recall", targets, ids(DType::kF32));
}

// Adds the loss and the metrics of a head with one logit.
void AddBinary(const HeadCall& call, const proto::LossArgs& args) {
  GraphBuilder& b = call.m.b;
  if (!call.tensors.label.valid()) return;
  ConfigErrors errors;
  const bool fits = CheckClassIds(b.shape(call.tensors.label), errors);
  call.m.errors.Add(FieldPlace(call.place, call.kind), errors);
  if (!fits) return;
  HeadCall of_targets = call;
  {
    const ScopedOrigins origins(b, kLossOrigin, NodeOrigin::Phase::kForward);
    of_targets.tensors.label = BinaryTargets(b, call.tensors.label);
  }
  const LossDef& loss = *FindByName(LossList(), "sigmoid_cross_entropy");
  if (const auto term = AddLoss(of_targets, loss, args))
    AddBinaryMetrics(call, *term, of_targets.tensors.label);
}

void BuildClassification(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::ClassificationHead& args = head.classification();
  HeadCall call{m, place, head, "classification"};
  HeadTensors& tensors = call.tensors;
  if (!Resolve(m, place, call.kind, args.logits(), args.label(), tensors)) return;
  if (!CheckLogits(call, args.logits(), 2, /*binary=*/true,
                   "f32[N,C], one value for each class, or f32[N,1] for two"))
    return;
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  loss_args.set_label_smoothing(args.label_smoothing());
  GraphBuilder& b = m.b;
  if (IsBinary(call)) {
    AddBinary(call, loss_args);
  } else if (const auto loss = AddLoss(call, SparseSoftmaxCrossEntropyLoss(), loss_args)) {
    AddMetric(call, *loss, "accuracy", AccuracyValues);
  }
  if (!m.purpose.has_predictions() || !tensors.logits.valid()) return;
  const Value scores = IsBinary(call) ? TwoLogits(b, tensors.logits) : tensors.logits;
  const int64_t rows = b.shape(scores).dims[0];
  ScopedName scope(b, "predictions");
  m.AddPrediction(place, KeyOf(head, "class_ids"),
                  Reshape(b, ArgMax(b, scores, 1, DType::kS64), {rows, 1}, "class_ids"));
  const Value probabilities = Softmax(b, scores, "probabilities");
  m.AddPrediction(place, KeyOf(head, "probabilities"), probabilities);
  m.AddPrediction(place, KeyOf(head, "logits"), tensors.logits);
  m.export_outputs.push_back(
      {.kind = ExportOutput::Kind::kClassification, .value = probabilities, .label = args.label()});
  if (!IsBinary(call)) return;
  const Value logistic = Sigmoid(b, tensors.logits);
  m.AddPrediction(place, KeyOf(head, "logistic"), logistic);
  m.export_outputs.push_back({ExportOutput::Kind::kRegression, logistic});
}

// ---- sequence: logits (N, T, C), C > 1; label (N, T), class ids. Loss: sparse softmax cross
// entropy at every position. Predictions: class_ids s64 (N, T), probabilities and logits (N, T, C).
// Metrics: accuracy; average_loss, the weighted mean of the loss; perplexity = exp(l) and
// bits_per_character = l / ln 2, where l is that mean without label_smoothing.

void AddSequenceMetrics(const HeadCall& call, const proto::LossArgs& args, const LossTerm& loss) {
  AddMetric(call, loss, "accuracy", AccuracyValues);
  AddMetric(call, loss, "average_loss", [&](ConfigErrors&) { return loss.elements; });
  const auto cross_entropy = [&](ConfigErrors& errors) {
    if (args.label_smoothing() == 0) return loss.elements;
    const proto::LossArgs plain;
    LossCall loss_call{.b = call.m.b,
                       .labels = call.tensors.label,
                       .predictions = call.tensors.logits,
                       .args = plain,
                       .errors = errors};
    return SparseSoftmaxCrossEntropyLoss().build(loss_call);
  };
  AddMetric(call, loss, "perplexity", cross_entropy,
            {[](double mean) { return std::exp(mean); }, Exp});
  AddMetric(
      call, loss, "bits_per_character", cross_entropy,
      {[](double mean) { return mean / std::numbers::ln2; },
       [](GraphBuilder& b, Value mean) { return Mul(b, mean, Scalar(b, 1 / std::numbers::ln2)); }});
}

void BuildSequence(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::SequenceHead& args = head.sequence();
  HeadCall call{m, place, head, "sequence"};
  const Value& logits = call.tensors.logits;
  if (!Resolve(m, place, call.kind, args.logits(), args.label(), call.tensors)) return;
  if (!CheckLogits(call, args.logits(), 3, /*binary=*/false,
                   "f32[N,T,C], one value for each class at each position"))
    return;
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  loss_args.set_label_smoothing(args.label_smoothing());
  if (const auto loss = AddLoss(call, SparseSoftmaxCrossEntropyLoss(), loss_args))
    AddSequenceMetrics(call, loss_args, *loss);
  if (!m.purpose.has_predictions() || !logits.valid()) return;
  ScopedName scope(m.b, "predictions");
  m.AddPrediction(place, KeyOf(head, "class_ids"), ArgMax(m.b, logits, 2, DType::kS64));
  m.AddPrediction(place, KeyOf(head, "probabilities"), Softmax(m.b, logits, "probabilities"));
  m.AddPrediction(place, KeyOf(head, "logits"), logits);
}

// ---- regression: logits (N, D) or (N), label of the same shape. Loss: mean squared error.
// Prediction: `predictions`. Metric: mean_absolute_error.

void BuildRegression(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::RegressionHead& args = head.regression();
  HeadCall call{m, place, head, "regression"};
  HeadTensors& tensors = call.tensors;
  if (!Resolve(m, place, call.kind, args.logits(), args.label(), tensors)) return;
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  if (const auto loss = AddLoss(call, *FindByName(LossList(), "mean_squared_error"), loss_args))
    AddMetric(call, *loss, "mean_absolute_error", AbsoluteErrorValues);
  if (!m.purpose.has_predictions() || !tensors.logits.valid()) return;
  m.AddPrediction(place, KeyOf(head, "predictions"), tensors.logits);
  m.export_outputs.push_back({ExportOutput::Kind::kRegression, tensors.logits});
}

}  // namespace

const std::vector<HeadDef>& HeadList() {
  static const std::vector<HeadDef>& list = *new std::vector<HeadDef>{
      {.name = "classification", .build = BuildClassification},
      {.name = "regression", .build = BuildRegression},
      {.name = "sequence", .build = BuildSequence},
  };
  return list;
}

void BuildHeads(ModelContext& m) {
  for (int i = 0; i < m.spec.head_size(); ++i) {
    const proto::Head& head = m.spec.head(i);
    const ConfigPlace place = {
        absl::StrCat("head ", i, head.has_name() ? absl::StrCat(" ", Quote(head.name())) : ""),
        absl::StrCat("model.head[", i, "]")};
    m.RequireName(place, NameKind::kKey, head.name());
    ConfigErrors errors;
    const HeadDef* def = ChooseRow(HeadList(), head, "head", "", errors);
    m.errors.Add(place, errors);
    if (def != nullptr) def->build(m, head, place);
  }
}

}  // namespace tpurun
