#include "models/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

ConfigPlace LossPlace(const proto::Loss& loss, int index) {
  return {
      absl::StrCat("loss ", index, loss.has_name() ? absl::StrCat(" ", Quote(loss.name())) : ""),
      absl::StrCat("model.loss[", index, "]")};
}

// Builds one `loss` entry: sets the elements and weights of `term` and returns the elements. The
// state of the result is kBroken after a mistake.
Tensor BuildLoss(ModelContext& m, const proto::Loss& loss, const ConfigPlace& place,
                 LossTerm& term) {
  ConfigErrors errors;
  const LossDef* def = ChooseRow(LossList(), loss, "loss", "", errors);
  m.errors.Add(place, errors);
  if (def == nullptr) return {};
  const auto& args =
      static_cast<const proto::LossArgs&>(loss.GetReflection()->GetMessage(loss, ChosenKind(loss)));
  const bool of_logits = IsOfKind(*args.GetDescriptor()->FindFieldByName("logits"), def->name);
  const Tensor* labels = m.Argument(place, def->name + ".labels", args.labels());
  const Tensor* predictions =
      m.Argument(place, def->name + (of_logits ? ".logits" : ".predictions"),
                 of_logits ? args.logits() : args.predictions());
  if (labels == nullptr || predictions == nullptr) return {};
  const bool from_label = labels->from_label || predictions->from_label;
  for (const Tensor* tensor : {labels, predictions}) {
    if (!tensor->known()) return {.state = tensor->state, .from_label = from_label};
  }
  ScopedName scope(m.b, term.name);
  ConfigErrors misfits;
  LossCall call{.b = m.b,
                .labels = ClassesOfLabel(m.b, *labels),
                .predictions = predictions->value,
                .args = args,
                .errors = misfits};
  term.elements = def->build(call);
  m.errors.Add(FieldPlace(place, def->name), misfits);
  if (!misfits.empty()) return {};
  term.weights = WeightsLike(m, place, def->name + ".weights", args.weights(), term.elements);
  term.weights = MaskedWeights(m.b, term.weights, predictions->mask, term.elements);
  term.weights =
      MaskedByLabel(m, place, def->name + ".labels", term.weights, labels->counted, term.elements);
  return {.state = Tensor::State::kKnown, .value = term.elements, .from_label = from_label};
}

// Returns the labels as f32 in the shape of the predictions, which must be f32.
Value Targets(LossCall& call, const std::string& predictions) {
  GraphBuilder& b = call.b;
  const Shape p = b.shape(call.predictions);
  if (p.dtype != DType::kF32) {
    return call.Fail(absl::StrCat(predictions, " must be f32, got ", BatchShapeText(p)));
  }
  return LabelsLike(b, call.labels, call.predictions, predictions, call.errors);
}

// True if the predictions are f32 (N, ..., C). Reports other predictions.
bool CheckLogits(LossCall& call) {
  const Shape z = call.b.shape(call.predictions);
  if (z.dtype == DType::kF32 && z.rank() >= 2) return true;
  call.Fail(
      absl::StrCat("logits must be f32[N,C], one value for each class, got ", BatchShapeText(z)));
  return false;
}

// Returns `values`, those of `field`, in the shape of the predictions: one for all of them, or one
// for each index of the last dimension.
Value OfLastDimension(LossCall& call, const std::vector<float>& values, const std::string& field) {
  GraphBuilder& b = call.b;
  const Shape p = b.shape(call.predictions);
  const int64_t size = p.rank() > 1 ? p.dims.back() : 1;
  if (values.size() != 1 && static_cast<int64_t>(values.size()) != size) {
    return call.Fail(
        absl::StrCat(field, ": got ", values.size(), " values, want one, or ", size,
                     ", one for each index of the last dimension of ",
                     call.args.has_predictions() ? "predictions " : "logits ", BatchShapeText(p)),
        field);
  }
  return Broadcast(b, ConstantFloats(b, values, p.dims.back()), p.dims, {p.rank() - 1});
}

// Applies a loss op for (N, C) to logits (N, ..., C).
template <typename Op>
Value OverRows(GraphBuilder& b, Value logits, Value labels, const Op& op) {
  const Shape z = b.shape(logits);
  if (z.rank() == 2) return op(logits, labels);
  const int64_t classes = z.dims.back(), n = z.num_elements() / classes;
  std::vector<int64_t> label_rows = {n};
  if (b.shape(labels).rank() == z.rank()) label_rows.push_back(classes);
  const Value losses = op(Reshape(b, logits, {n, classes}), Reshape(b, labels, label_rows));
  return Reshape(b, losses, {z.dims.begin(), z.dims.end() - 1});
}

// x (1 - share) + share y
Value Blend(GraphBuilder& b, Value x, double share, Value y) {
  return Add(b, Mul(b, x, Scalar(b, 1 - share)), Mul(b, y, Scalar(b, share)));
}

// ---- sparse_softmax_cross_entropy: logits (N, ..., C), class ids (N, ...) or (N, ..., 1) ->
// (N, ...). l = log(sum_j exp(z_j)) - z_label. Smoothing is that of softmax_cross_entropy with
// one-hot labels.

Value BuildSparseSoftmaxCrossEntropy(LossCall& call) {
  GraphBuilder& b = call.b;
  if (!CheckLogits(call)) return {};
  const Shape z = b.shape(call.predictions);
  const Shape y = b.shape(call.labels);
  if (!CheckClassIds(y, call.errors)) return {};
  const Shape rows = {y.dtype, {z.dims.begin(), z.dims.end() - 1}};
  const Value ids = AlignTo(b, call.labels, rows);
  if (!ids.valid()) {
    return call.Fail(absl::StrCat("labels must be one class id for each row of logits, want ",
                                  BatchShapeText(rows), ", got ", BatchShapeText(y), " for logits ",
                                  BatchShapeText(z)));
  }
  return OverRows(b, call.predictions, ids, [&](Value logits, Value labels) {
    const Value losses = SparseSoftmaxCrossEntropy(b, logits, labels);
    const double share = call.args.label_smoothing();
    if (share == 0) return losses;
    // Blends losses, not labels: a label that is not a class must give NaN.
    const std::vector<int64_t> dims = b.shape(logits).dims;
    const Value even = Constant(b, DType::kF32, dims, 1.0 / static_cast<double>(dims[1]));
    return Blend(b, losses, share, SoftmaxCrossEntropy(b, logits, even));
  });
}

// ---- softmax_cross_entropy: logits and labels (N, ..., C) -> (N, ...).
// l = sum_c y_c (log(sum_j exp(z_j)) - z_c). Smoothed labels are y_c (1 - s) + s / C, as in
// tf.losses.

Value BuildSoftmaxCrossEntropy(LossCall& call) {
  GraphBuilder& b = call.b;
  if (!CheckLogits(call)) return {};
  Value labels = Targets(call, "logits");
  if (!labels.valid()) return {};
  const double share = call.args.label_smoothing();
  const auto classes = static_cast<double>(b.shape(labels).dims.back());
  if (share > 0) labels = Blend(b, labels, share, Scalar(b, 1 / classes));
  return OverRows(b, call.predictions, labels, [&b](Value logits, Value targets) {
    return SoftmaxCrossEntropy(b, logits, targets);
  });
}

// ---- sigmoid_cross_entropy: for each element, l = max(z, 0) - z y + log(1 + exp(-|z|)). Smoothed
// labels are y (1 - s) + s / 2, as in tf.losses. With a pos_weight q, that of
// tf.nn.weighted_cross_entropy_with_logits:
//   l = (1 - y) z + (1 + (q - 1) y) (log(1 + exp(-|z|)) + max(-z, 0)).
// Its gradient at z = 0 is the derivative, (1 - y) - (1 + (q - 1) y) / 2; TensorFlow's is 1 - y
// there, because the derivative of |z| at 0 is 0 for it.

// Returns 1 + (q - 1) y; an invalid Value after a mistake.
Value PositiveWeights(LossCall& call, Value labels) {
  GraphBuilder& b = call.b;
  std::vector<float> more;
  for (const float weight : call.args.pos_weight()) more.push_back(weight - 1);
  const Value factors = OfLastDimension(call, more, "pos_weight");
  if (!factors.valid()) return {};
  return Add(b, Mul(b, factors, labels), Scalar(b, 1));
}

Value BuildSigmoidCrossEntropy(LossCall& call) {
  GraphBuilder& b = call.b;
  Value labels = Targets(call, "logits");
  if (!labels.valid()) return {};
  const double share = call.args.label_smoothing();
  if (share > 0) labels = Blend(b, labels, share, Scalar(b, 0.5));
  const Value z = call.predictions;
  // Uses Select, not Maximum: at z = 0 the gradient of max(z, 0) + log(...) must be 1/2.
  const Value positive = GreaterEqual(b, z, Scalar(b, 0));
  const Value least = Select(b, positive, Neg(b, z), z);
  const auto& weights = call.args.pos_weight();
  if (std::all_of(weights.begin(), weights.end(), [](float weight) { return weight == 1; })) {
    const Value most = Select(b, positive, z, Scalar(b, 0));
    return Add(b, Sub(b, most, Mul(b, z, labels)), Softplus(b, least));
  }
  const Value factors = PositiveWeights(call, labels);
  if (!factors.valid()) return {};
  const Value of_positive =
      Add(b, Softplus(b, least), Select(b, positive, Scalar(b, 0), Neg(b, z)));
  return Add(b, Mul(b, Sub(b, Scalar(b, 1), labels), z), Mul(b, factors, of_positive));
}

// ---- mean_squared_error: l = (p - y)^2

Value BuildMeanSquaredError(LossCall& call) {
  const Value targets = Targets(call, "predictions");
  if (!targets.valid()) return {};
  return Square(call.b, Sub(call.b, call.predictions, targets));
}

// ---- huber_loss: with e = p - y, l = e^2 / 2 if |e| <= d, else d (|e| - d / 2). Computed as
// q^2 / 2 + d (|e| - q) with q = min(|e|, d).

Value BuildHuberLoss(LossCall& call) {
  GraphBuilder& b = call.b;
  const Value targets = Targets(call, "predictions");
  if (!targets.valid()) return {};
  const float delta = call.args.delta();
  const Value e = Sub(b, call.predictions, targets);
  const Value distance = Maximum(b, e, Neg(b, e));
  const Value near = Minimum(b, distance, Scalar(b, delta));
  const Value far = Sub(b, distance, near);
  return Add(b, Mul(b, Square(b, near), Scalar(b, 0.5)), Mul(b, far, Scalar(b, delta)));
}

// ---- absolute_difference: l = |p - y|. Its gradient at 0 is 0, as TensorFlow's.

Value BuildAbsoluteDifference(LossCall& call) {
  GraphBuilder& b = call.b;
  const Value targets = Targets(call, "predictions");
  if (!targets.valid()) return {};
  const Value e = Sub(b, call.predictions, targets), zero = Scalar(b, 0);
  // Not the larger of e and -e, whose gradient at 0 is that of e.
  const Value rest = Select(b, Equal(b, e, zero), zero, Neg(b, e));
  return Select(b, Greater(b, e, zero), e, rest);
}

// ---- hinge_loss: for each element, l = max(0, 1 - (2 y - 1) z).

Value BuildHingeLoss(LossCall& call) {
  GraphBuilder& b = call.b;
  const Value labels = Targets(call, "logits");
  if (!labels.valid()) return {};
  const Value one = Scalar(b, 1);
  const Value side = Sub(b, Mul(b, labels, Scalar(b, 2)), one);
  return Relu(b, Sub(b, one, Mul(b, side, call.predictions)));
}

// ---- pinball_loss (Koenker, Bassett 1978): with d = y - p, l = tau d if d >= 0, else (tau - 1) d.

Value BuildPinballLoss(LossCall& call) {
  GraphBuilder& b = call.b;
  const Value targets = Targets(call, "predictions");
  if (!targets.valid()) return {};
  const Value d = Sub(b, targets, call.predictions);
  const Value above = GreaterEqual(b, d, Scalar(b, 0));
  std::vector<float> tau(call.args.tau().begin(), call.args.tau().end());
  if (tau.empty()) tau = {0.5f};
  const Value share = OfLastDimension(call, tau, "tau");
  if (!share.valid()) return {};
  return Mul(b, Select(b, above, share, Sub(b, share, Scalar(b, 1))), d);
}

// ---- log_cosh: with e = p - y, l = log(cosh(e)). Computed as e + log(1 + exp(-2 e)) - log 2.

Value BuildLogCosh(LossCall& call) {
  GraphBuilder& b = call.b;
  const Value targets = Targets(call, "predictions");
  if (!targets.valid()) return {};
  const Value e = Sub(b, call.predictions, targets);
  return Sub(b, Add(b, e, Softplus(b, Mul(b, e, Scalar(b, -2)))), Scalar(b, std::log(2.0)));
}

// ---- reductions

// Returns the reduced loss without its factor, f32[].
Value Reduce(GraphBuilder& b, const LossTerm& term) {
  ScopedName scope(b, term.name);
  const bool weighted = term.weights.valid();
  const Value elements = weighted ? Mul(b, term.elements, term.weights) : term.elements;
  switch (term.reduction) {
    case proto::Loss::SUM:
      return ReduceSum(b, elements, {}, "value");
    case proto::Loss::MEAN:
    case proto::Loss::SUM_BY_NONZERO_WEIGHTS:
      if (weighted) break;
      [[fallthrough]];
    default:
      return ReduceMean(b, elements, {}, "value");
  }
  const Value sum = ReduceSum(b, elements);
  if (term.reduction == proto::Loss::MEAN) {
    const Value weight = ReduceSum(b, term.weights, {}, "sum_of_weights");
    // 0 where the weights sum to 0.
    const Value none = Equal(b, weight, Scalar(b, 0));
    const Value infinity = Scalar(b, std::numeric_limits<double>::infinity());
    return Div(b, sum, Select(b, none, infinity, weight), "value");
  }
  const Value present = ReduceSum(b, NonZero(b, term.weights), {}, "num_present");
  return Div(b, sum, Maximum(b, present, Scalar(b, 1)), "value");
}

Value TimesFactor(GraphBuilder& b, const LossTerm& term, Value reduced) {
  ScopedName scope(b, term.name);
  return term.factor == 1 ? reduced : Mul(b, reduced, Scalar(b, term.factor));
}

// A loss as sums over rows, f32[batch] each: sum / count, or the sum alone.
struct ReducedSum {
  Value sum;
  Value count;
  bool divides = true;
};

ReducedSum SumOverRows(GraphBuilder& b, const LossTerm& term, Value row_weight) {
  Value elements = term.elements;
  Value count = Constant(b, DType::kF32, b.shape(elements).dims, 1);
  if (term.weights.valid()) {
    elements = Mul(b, elements, term.weights);
    if (term.reduction == proto::Loss::MEAN) count = term.weights;
    if (term.reduction == proto::Loss::SUM_BY_NONZERO_WEIGHTS) count = NonZero(b, term.weights);
  }
  return {RowSums(b, elements, row_weight), RowSums(b, count, row_weight),
          term.reduction != proto::Loss::SUM};
}

double Reduced(double sum, double count, bool divides) {
  if (!divides) return sum;
  return count == 0 ? 0 : sum / count;
}

// The names of the losses apart, in order; empty if there is only one.
std::vector<std::string> PartNames(const std::vector<LossTerm>& terms,
                                   const std::vector<Value>& regularization) {
  if (terms.size() + (regularization.empty() ? 0 : 1) < 2) return {};
  std::vector<std::string> names;
  const auto add = [&](const std::string& key) {
    std::string name = absl::StrCat("losses/", key);
    while (std::find(names.begin(), names.end(), name) != names.end()) name += "_1";
    names.push_back(std::move(name));
  };
  for (const LossTerm& term : terms) add(term.key);
  if (!regularization.empty()) add("regularization");
  return names;
}

}  // namespace

const std::vector<LossDef>& LossList() {
  static const std::vector<LossDef>& list = *new std::vector<LossDef>{
      {.name = "absolute_difference", .build = BuildAbsoluteDifference},
      {.name = "hinge_loss", .build = BuildHingeLoss},
      {.name = "huber_loss", .build = BuildHuberLoss},
      {.name = "log_cosh", .build = BuildLogCosh},
      {.name = "mean_squared_error", .build = BuildMeanSquaredError},
      {.name = "pinball_loss", .build = BuildPinballLoss},
      {.name = "sigmoid_cross_entropy", .build = BuildSigmoidCrossEntropy},
      {.name = "softmax_cross_entropy", .build = BuildSoftmaxCrossEntropy},
      {.name = "sparse_softmax_cross_entropy", .build = BuildSparseSoftmaxCrossEntropy},
  };
  return list;
}

Value LossCall::Fail(const std::string& message, const std::string& field) {
  errors.Add(field, message);
  return {};
}

bool IsWhole(DType dtype) { return dtype == DType::kS32 || dtype == DType::kS64; }

bool CheckClassIds(const Shape& labels, ConfigErrors& errors) {
  if (IsWhole(labels.dtype)) return true;
  errors.Add(
      "", absl::StrCat("labels must be class ids, INT32 or INT64, got ", BatchShapeText(labels)));
  return false;
}

Value AlignTo(GraphBuilder& b, Value y, const Shape& like) {
  const std::vector<int64_t> dims = b.shape(y).dims;
  if (dims == like.dims) return y;
  std::vector<int64_t> longer = dims.size() > like.dims.size() ? dims : like.dims;
  const std::vector<int64_t>& shorter = dims.size() > like.dims.size() ? like.dims : dims;
  if (longer.back() != 1) return {};
  longer.pop_back();
  return longer == shorter ? Reshape(b, y, like.dims) : Value{};
}

Value LabelsLike(GraphBuilder& b, Value labels, Value predictions, const std::string& noun,
                 ConfigErrors& errors) {
  const Shape p = b.shape(predictions);
  const Value targets = AlignTo(b, Convert(b, labels, DType::kF32), p);
  if (targets.valid()) return targets;
  errors.Add("",
             absl::StrCat("labels and ", noun, " must have one shape, got labels ",
                          BatchShapeText(b.shape(labels)), " and ", noun, " ", BatchShapeText(p)));
  return {};
}

Value WeightsLike(ModelContext& m, const ConfigPlace& place, const std::string& field,
                  const std::string& name, Value like) {
  if (name.empty()) return {};
  const Tensor* tensor = m.Argument(place, field, name);
  if (tensor == nullptr || !tensor->known()) return {};
  GraphBuilder& b = m.b;
  const Shape shape = b.shape(tensor->value);
  const Shape want = b.shape(like);
  const Value weights = Convert(b, tensor->value, DType::kF32);
  const Value aligned = AlignTo(b, weights, want);
  if (aligned.valid()) return aligned;
  const Value rows = AlignTo(b, weights, Shape{DType::kF32, {want.dims[0]}});
  if (rows.valid()) return Broadcast(b, rows, want.dims, {0});
  m.errors.Add(place, field,
               absl::StrCat("weights must be of shape [N] or ", BatchShapeText(want), ", got ",
                            Quote(name), " of ", BatchShapeText(shape)));
  return {};
}

Value MaskedWeights(GraphBuilder& b, Value weights, Value mask, Value elements) {
  if (!mask.valid() || b.shape(elements).rank() < 2) return weights;
  const std::vector<int64_t> dims = b.shape(elements).dims;
  const Value counted = dims == b.shape(mask).dims ? mask : Broadcast(b, mask, dims, {0, 1});
  return weights.valid() ? Mul(b, weights, counted) : counted;
}

Value MaskedByLabel(ModelContext& m, const ConfigPlace& place, const std::string& field,
                    Value weights, Value counted, Value elements) {
  if (!counted.valid()) return weights;
  GraphBuilder& b = m.b;
  const Value of_elements = AlignTo(b, counted, b.shape(elements));
  if (of_elements.valid()) return weights.valid() ? Mul(b, weights, of_elements) : of_elements;
  m.errors.Add(place, field,
               absl::StrCat("a label with ignore_class must have one class id for each of the "
                            "values ",
                            BatchShapeText(b.shape(elements)), " that count or not, got ",
                            BatchShapeText(b.shape(counted))));
  return {};
}

void BuildLosses(ModelContext& m) {
  const ScopedOrigins origins(m.b, kLossOrigin, NodeOrigin::Phase::kForward);
  for (int i = 0; i < m.spec.loss_size(); ++i) {
    const proto::Loss& loss = m.spec.loss(i);
    const ConfigPlace place = LossPlace(loss, i);
    m.RequireName(place, NameKind::kKey, loss.name());
    LossTerm term{.name = loss.name(),
                  .key = loss.name(),
                  .factor = loss.weight(),
                  .reduction = loss.reduction()};
    Tensor tensor = BuildLoss(m, loss, place, term);
    if (tensor.known() && term.reduction != proto::Loss::NONE) {
      m.losses.push_back(term);
    } else if (tensor.known() && term.weights.valid()) {
      ScopedName scope(m.b, term.name);
      tensor.value = Mul(m.b, term.elements, term.weights);
    }
    m.tensors.Declare(loss.name(), tensor, place, m.errors);
  }
}

TrainLoss ReduceLosses(GraphBuilder& b, const std::vector<LossTerm>& terms,
                       const std::vector<Value>& regularization) {
  const ScopedOrigins origins(b, kLossOrigin, NodeOrigin::Phase::kForward);
  const std::vector<std::string> names = PartNames(terms, regularization);
  TrainLoss loss;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Value reduced = Reduce(b, terms[i]);
    if (!names.empty()) loss.parts.push_back({names[i], reduced});
    const Value term = TimesFactor(b, terms[i], reduced);
    loss.total = i == 0 ? term : Add(b, loss.total, term, "loss");
  }
  if (regularization.empty()) return loss;
  std::vector<Value> all = {Reshape(b, loss.total, {1})};
  all.insert(all.end(), regularization.begin(), regularization.end());
  loss.parts.push_back({names.back(), ReduceSum(b, Concat(b, regularization, 0))});
  loss.total = ReduceSum(b, Concat(b, all, 0), {}, "total_loss");
  return loss;
}

Value MaskRows(GraphBuilder& b, Value x, Value row_weight) {
  const std::vector<int64_t> dims = b.shape(x).dims;
  const Value weights = dims.size() == 1 ? row_weight : Broadcast(b, row_weight, dims, {0});
  // Not a product: the values of a padding row may be infinite.
  return Select(b, Greater(b, weights, Scalar(b, 0)), x, Scalar(b, 0));
}

Value RowSums(GraphBuilder& b, Value x, Value row_weight) {
  const Value masked = MaskRows(b, x, row_weight);
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis < b.shape(x).rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? masked : ReduceSum(b, masked, axes);
}

std::vector<EvalMetric> LossMetrics(GraphBuilder& b, const std::vector<LossTerm>& terms,
                                    const std::vector<Value>& regularization, Value row_weight) {
  ScopedName scope(b, "metrics/loss");
  const ScopedOrigins origins(b, kMetricsOrigin, NodeOrigin::Phase::kOutput);
  const std::vector<std::string> names = PartNames(terms, regularization);
  std::vector<ReducedSum> sums;
  for (const LossTerm& term : terms) sums.push_back(SumOverRows(b, term, row_weight));
  if (!regularization.empty()) {
    // Every row has the same regularization.
    const std::vector<int64_t> rows = b.shape(row_weight).dims;
    const Value sum = ReduceSum(b, Concat(b, regularization, 0));
    sums.push_back({RowSums(b, Broadcast(b, sum, rows, {}), row_weight),
                    RowSums(b, Constant(b, DType::kF32, rows, 1), row_weight)});
  }
  std::vector<EvalMetric> metrics = {{.name = "loss"}};
  std::vector<double> factors;
  std::vector<bool> divides;
  for (size_t i = 0; i < sums.size(); ++i) {
    metrics[0].statistics.push_back(sums[i].sum);
    metrics[0].statistics.push_back(sums[i].count);
    factors.push_back(i < terms.size() ? terms[i].factor : 1);
    divides.push_back(sums[i].divides);
    if (names.empty()) continue;
    metrics.push_back({.name = names[i],
                       .statistics = {sums[i].sum, sums[i].count},
                       .result = [divided = sums[i].divides](std::span<const double> of) {
                         return Reduced(of[0], of[1], divided);
                       }});
  }
  metrics[0].result = [factors, divides](std::span<const double> of) {
    double loss = 0;
    for (size_t i = 0; i < factors.size(); ++i) {
      loss += factors[i] * Reduced(of[2 * i], of[2 * i + 1], divides[i]);
    }
    return loss;
  };
  return metrics;
}

}  // namespace tpurun
