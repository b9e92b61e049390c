#include "models/heads.h"

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "models/metrics.h"
#include "models/summaries.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// A head's tensors, those that are known in this mode.
struct HeadTensors {
  Value logits;
  Value label;
};

// False after a mistake.
bool Resolve(ModelContext& m, const ConfigPlace& place, const std::string& kind,
             const std::string& logits, const std::string& label, HeadTensors& tensors) {
  const Tensor* logits_tensor = m.Argument(place, kind + ".logits", logits);
  const Tensor* label_tensor = m.Argument(place, kind + ".label", label);
  if (logits_tensor == nullptr || label_tensor == nullptr) return false;
  if (logits_tensor->state == Tensor::State::kBroken) return false;
  if (label_tensor->state == Tensor::State::kBroken) return false;
  if (logits_tensor->known()) tensors.logits = logits_tensor->value;
  if (label_tensor->known()) tensors.label = label_tensor->value;
  // Predictions do not depend on labels, even where an input has them.
  if (m.args.mode == ModeKey::kPredict && logits_tensor->from_label) tensors.logits = {};
  return true;
}

// The name of a prediction or metric of the head.
std::string KeyOf(const proto::Head& head, const std::string& name) {
  return head.name().empty() ? name : absl::StrCat(head.name(), "/", name);
}

// The loss and the metric of (labels, logits) with one set of weights.
void AddLossAndMetric(ModelContext& m, const ConfigPlace& place, const std::string& kind,
                      const HeadTensors& tensors, const LossDef& loss, const proto::LossArgs& args,
                      const std::string& metric,
                      Value (*metric_values)(GraphBuilder&, Value, Value, std::string*)) {
  if (!tensors.logits.valid() || !tensors.label.valid() || m.args.mode == ModeKey::kPredict) return;
  LossTerm term{.name = absl::StrCat(loss.name, "_loss")};
  LossCall call{.b = m.b, .labels = tensors.label, .predictions = tensors.logits, .args = args};
  {
    ScopedName scope(m.b, term.name);
    term.elements = loss.build(call);
  }
  if (!call.mistake.empty()) return m.errors.Add(place, FieldPath(kind, call.field), call.mistake);
  term.weights = WeightsLike(m, place, kind + ".weights", args.weights(), term.elements);
  m.losses.push_back(term);
  if (m.args.mode == ModeKey::kTrain) m.batch_metrics[metric] = {};
  if (m.args.mode == ModeKey::kTrain && !IsSummarized(m.spec, metric)) return;
  ScopedName scope(m.b, absl::StrCat("metrics/", metric));
  std::string mistake;
  const Value values = metric_values(m.b, tensors.label, tensors.logits, &mistake);
  if (!mistake.empty()) return m.errors.Add(place, kind, mistake);
  if (m.args.mode == ModeKey::kTrain) {
    m.batch_metrics[metric] = BatchMean(m.b, values, term.weights);
    return;
  }
  EvalMetric mean = MeanMetric(m.b, values, term.weights, m.row_weight);
  mean.name = metric;
  m.AddMetric(place, std::move(mean));
}

// Whether they are probabilities already.
bool IsSoftmax(const GraphBuilder& b, Value value) {
  return b.graph().nodes()[value.node].op->name == std::string_view("softmax");
}

// ---- classification: logits (N, C), C > 1, label (N) or (N,1) whole. Sparse softmax cross
// entropy; predictions class_ids s64 (N,1), probabilities (N,C), logits (N,C); metric accuracy.

void BuildClassification(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::ClassificationHead& args = head.classification();
  HeadTensors tensors;
  if (!Resolve(m, place, "classification", args.logits(), args.label(), tensors)) return;
  GraphBuilder& b = m.b;
  if (tensors.logits.valid()) {
    const Shape shape = b.shape(tensors.logits);
    if (shape.dtype != DType::kF32 || shape.rank() != 2) {
      return m.errors.Add(place, "classification.logits",
                          absl::StrCat("logits must be f32[N,C], one value for each class, got ",
                                       Quote(args.logits()), " of ", BatchShapeText(shape)));
    }
    if (shape.dims[1] < 2) {
      return m.errors.Add(place, "classification.logits",
                          absl::StrCat("a classification of one logit is not supported yet, got ",
                                       Quote(args.logits()), " of ", BatchShapeText(shape),
                                       "; use one logit for each of the two classes"));
    }
  }
  if (m.args.mode != ModeKey::kPredict && tensors.logits.valid() && IsSoftmax(b, tensors.logits)) {
    m.errors.Warn(place, "classification.logits",
                  absl::StrCat(Quote(args.logits()),
                               " is the result of a softmax, and the head takes one itself; want "
                               "the values before it, activation: LINEAR"));
  }
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  loss_args.set_label_smoothing(args.label_smoothing());
  AddLossAndMetric(m, place, "classification", tensors,
                   *FindByName(LossList(), "sparse_softmax_cross_entropy"), loss_args,
                   KeyOf(head, "accuracy"), AccuracyValues);
  if (m.args.mode == ModeKey::kTrain || !tensors.logits.valid()) return;
  const int64_t rows = b.shape(tensors.logits).dims[0];
  ScopedName scope(b, "predictions");
  m.AddPrediction(place, KeyOf(head, "class_ids"),
                  Reshape(b, ArgMax(b, tensors.logits, 1, DType::kS64), {rows, 1}, "class_ids"));
  const Value probabilities = Softmax(b, tensors.logits, "probabilities");
  m.AddPrediction(place, KeyOf(head, "probabilities"), probabilities);
  m.AddPrediction(place, KeyOf(head, "logits"), tensors.logits);
  m.export_outputs.push_back({ExportOutput::Kind::kClassification, probabilities});
}

// ---- regression: logits (N, D) or (N), label of that shape. Mean squared error; prediction
// `predictions`; metric mean_absolute_error.

void BuildRegression(ModelContext& m, const proto::Head& head, const ConfigPlace& place) {
  const proto::RegressionHead& args = head.regression();
  HeadTensors tensors;
  if (!Resolve(m, place, "regression", args.logits(), args.label(), tensors)) return;
  proto::LossArgs loss_args;
  loss_args.set_weights(args.weights());
  AddLossAndMetric(m, place, "regression", tensors, *FindByName(LossList(), "mean_squared_error"),
                   loss_args, KeyOf(head, "mean_absolute_error"), AbsoluteErrorValues);
  if (m.args.mode == ModeKey::kTrain || !tensors.logits.valid()) return;
  m.AddPrediction(place, KeyOf(head, "predictions"), tensors.logits);
  m.export_outputs.push_back({ExportOutput::Kind::kRegression, tensors.logits});
}

}  // namespace

const std::vector<HeadDef>& HeadList() {
  static const std::vector<HeadDef>& list = *new std::vector<HeadDef>{
      {.name = "classification",
       .fields = {"logits", "label", "weights", "label_smoothing"},
       .build = BuildClassification},
      {.name = "regression", .fields = {"logits", "label", "weights"}, .build = BuildRegression},
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
