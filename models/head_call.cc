#include "models/head_call.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/heads.h"
#include "models/layers/layer.h"
#include "models/metrics.h"
#include "models/summaries.h"
#include "proto/one_of.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {

std::string HeadCall::Key(const std::string& name) const {
  return head.name().empty() ? name : absl::StrCat(head.name(), "/", name);
}

std::string HeadCall::MetricKey(const std::string& name) const {
  const auto [owner, added] = m.metric_heads.try_emplace(Key(name), &head);
  return owner->second == &head ? Key(name) : absl::StrCat(kind, "/", name);
}

void HeadCall::Fail(const std::string& field, const std::string& message) const {
  m.errors.Add(place, FieldPath(kind, field), message);
}

bool FindTensors(HeadCall& call, const std::string& logits, const std::string& label) {
  ModelContext& m = call.m;
  const Tensor* logits_tensor = m.Argument(call.place, FieldPath(call.kind, "logits"), logits);
  const Tensor* label_tensor = m.Argument(call.place, FieldPath(call.kind, "label"), label);
  if (logits_tensor == nullptr || label_tensor == nullptr) return false;
  if (logits_tensor->state == Tensor::State::kBroken) return false;
  if (label_tensor->state == Tensor::State::kBroken) return false;
  if (logits_tensor->known()) call.logits = logits_tensor->value;
  if (logits_tensor->known()) call.mask = logits_tensor->mask;
  if (label_tensor->known()) call.label = ClassesOfLabel(m.b, *label_tensor);
  if (label_tensor->known()) call.counted = label_tensor->counted;
  // Predictions must not depend on labels, even if an input has labels.
  if (!m.purpose.has_losses() && logits_tensor->from_label) call.logits = {};
  return true;
}

bool CheckLogits(const HeadCall& call, const std::string& name, const WantedLogits& want,
                 const std::string& function) {
  if (!call.logits.valid()) return true;
  ModelContext& m = call.m;
  const Shape shape = m.b.shape(call.logits);
  const auto got = [&] { return absl::StrCat(Quote(name), " of ", BatchShapeText(shape)); };
  if (shape.dtype != DType::kF32 || shape.rank() < want.rank || shape.rank() > want.max_rank) {
    call.Fail("logits", absl::StrCat("logits must be ", want.text, ", got ", got()));
    return false;
  }
  if (shape.dims.back() == 1 && !want.one_logit) {
    call.Fail("logits", absl::StrCat("a ", call.kind, " of one logit is not supported yet, got ",
                                     got(), "; use one logit for each of the two classes"));
    return false;
  }
  if (m.purpose.has_losses() && m.b.graph().node(call.logits).op->name == function) {
    m.errors.Warn(call.place, FieldPath(call.kind, "logits"),
                  absl::StrCat(Quote(name), " is the result of a ", function,
                               ", and the head takes one itself; want the values before it, "
                               "activation: LINEAR"));
  }
  return true;
}

Value PerClass(const HeadCall& call, const std::string& field,
               const google::protobuf::RepeatedField<float>& values, int64_t size,
               const std::string& each) {
  if (values.empty()) return {};
  if (values.size() != 1 && values.size() != size) {
    call.Fail(field, absl::StrCat(field, ": got ", values.size(), " values, want one, or ", size,
                                  ", one for each ", each));
    return {};
  }
  return ConstantFloats(call.m.b, {values.begin(), values.end()}, size);
}

void CheckVocabulary(const HeadCall& call,
                     const google::protobuf::RepeatedPtrField<std::string>& names,
                     int64_t classes) {
  if (!names.empty() && names.size() != classes) {
    call.Fail("label_vocabulary",
              absl::StrCat("label_vocabulary: got ", names.size(), " names, want ", classes,
                           ", one for each class of the logits"));
  }
  std::map<std::string, int> first;
  for (int i = 0; i < names.size(); ++i) {
    if (names[i].empty() || !IsUtf8(names[i])) {
      call.Fail(ElementPath("label_vocabulary", i),
                absl::StrCat("label_vocabulary: want a name in UTF-8, got ", Quote(names[i])));
    }
    const auto [known, added] = first.try_emplace(names[i], i);
    if (added) continue;
    call.Fail(
        ElementPath("label_vocabulary", i),
        absl::StrCat("the name ", Quote(names[i]), " is there already, for class ", known->second));
  }
}

void CheckNamesOfLabel(const HeadCall& call, const std::string& label,
                       const google::protobuf::RepeatedPtrField<std::string>& names) {
  for (const proto::Tensor& declared : call.m.spec.label()) {
    if (declared.name() != label || names.empty()) continue;
    const std::vector<std::string> used = VocabularyOfLabel(call.m.spec, declared);
    if (used.empty() || used == std::vector<std::string>(names.begin(), names.end())) continue;
    call.Fail("label_vocabulary",
              absl::StrCat("label_vocabulary: an earlier head has other names for the label ",
                           Quote(label), "; heads of one label need the same"));
  }
}

Value BinaryTargets(GraphBuilder& b, Value label) {
  const Value table = Convert(b, ConstantInt(b, DType::kS32, {2}, {0, 1}), DType::kF32);
  return Gather(b, table, label, 0, "targets");
}

Value ClassWeights(const HeadCall& call, const google::protobuf::RepeatedField<float>& weights,
                   int64_t classes) {
  GraphBuilder& b = call.m.b;
  if (!weights.empty() && weights.size() != classes) {
    call.Fail("class_weight", absl::StrCat("class_weight: got ", weights.size(), " values, want ",
                                           classes, ", one for each class"));
    return {};
  }
  const auto is_zero = [](float weight) { return weight == 0; };
  if (!weights.empty() && std::all_of(weights.begin(), weights.end(), is_zero)) {
    call.Fail(
        "class_weight",
        "class_weight: got 0 for every class, so that nothing would be trained; want one > 0");
    return {};
  }
  if (weights.empty() || !call.label.valid() || !call.m.purpose.train) return {};
  if (!IsWhole(b.shape(call.label).dtype)) return {};  // the loss reports it
  const ScopedOrigins origins(b, kLossOrigin, NodeOrigin::Phase::kForward);
  ScopedName scope(b, "class_weight");
  return Gather(b, ConstantFloats(b, {weights.begin(), weights.end()}, classes), call.label, 0);
}

std::optional<LossTerm> AddLoss(const HeadCall& call, const LossDef& loss,
                                const proto::LossArgs& args, Value training_weights) {
  ModelContext& m = call.m;
  if (!call.logits.valid() || !call.label.valid() || !m.purpose.has_losses()) return std::nullopt;
  const ScopedOrigins origins(m.b, kLossOrigin, NodeOrigin::Phase::kForward);
  LossTerm term{.name = absl::StrCat(loss.name, "_loss"),
                .key = call.head.name().empty() ? call.kind : call.head.name(),
                .factor = call.head.loss_weight()};
  ConfigErrors errors;
  LossCall loss_call{
      .b = m.b, .labels = call.label, .predictions = call.logits, .args = args, .errors = errors};
  {
    ScopedName scope(m.b, term.name);
    term.elements = loss.build(loss_call);
  }
  m.errors.Add(FieldPlace(call.place, call.kind), errors);
  if (!errors.empty()) return std::nullopt;
  term.weights =
      WeightsLike(m, call.place, FieldPath(call.kind, "weights"), args.weights(), term.elements);
  const Tensor* const weights = m.tensors.Find("", args.weights());
  if (weights != nullptr && weights->known()) m.b.MarkWeights(weights->value);
  term.weights = MaskedWeights(m.b, term.weights, call.mask, term.elements);
  term.weights = MaskedByLabel(m, call.place, FieldPath(call.kind, "label"), term.weights,
                               call.counted, term.elements);
  m.losses.push_back(term);
  if (training_weights.valid() && m.purpose.train) {
    LossTerm& trained = m.losses.back();
    const Value weights_of_elements = AlignTo(m.b, training_weights, m.b.shape(term.elements));
    trained.elements = Mul(m.b, trained.elements, weights_of_elements);
  }
  return term;
}

void AddMeanMetric(const HeadCall& call, const LossTerm& loss, const std::string& name,
                   const std::function<Value(ConfigErrors& errors)>& values_of, OfMean of_mean) {
  ModelContext& m = call.m;
  const std::string metric = call.MetricKey(name);
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
  m.AddHeadMetric(call.place, std::move(mean));
}

void AddListedMetric(const HeadCall& call, const LossTerm& loss, const std::string& name,
                     const std::string& listed, const proto::MetricArgs& args, Value labels,
                     Value predictions) {
  ModelContext& m = call.m;
  if (!m.purpose.evaluate) return;
  MetricCall metric_call{.m = m,
                         .place = call.place,
                         .name = call.kind,
                         .args = args,
                         .tensors = {labels, predictions},
                         .weights = loss.weights};
  ScopedName scope(m.b, absl::StrCat("metrics/", call.MetricKey(name)));
  const ScopedOrigins origins(m.b, kMetricsOrigin, NodeOrigin::Phase::kOutput);
  EvalMetric metric = FindByName(MetricList(), listed)->build(metric_call);
  m.errors.Add(FieldPlace(call.place, call.kind), metric_call.errors);
  metric.name = call.MetricKey(name);
  m.AddHeadMetric(call.place, std::move(metric));
}

}  // namespace tpurun
