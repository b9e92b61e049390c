#include "models/losses.h"

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// 1 where a weight is not zero.
Value NonZero(GraphBuilder& b, Value weights) {
  return Select(b, Equal(b, weights, Scalar(b, 0)), Scalar(b, 0), Scalar(b, 1));
}

ConfigPlace LossPlace(const proto::Loss& loss, int index) {
  return {
      absl::StrCat("loss ", index, loss.has_name() ? absl::StrCat(" ", Quote(loss.name())) : ""),
      absl::StrCat("model.loss[", index, "]")};
}

// The elements of one `loss` entry; broken after a mistake.
Tensor BuildLoss(ModelContext& m, const proto::Loss& loss, const ConfigPlace& place,
                 LossTerm& term) {
  ConfigErrors errors;
  const LossDef* def = ChooseRow(LossList(), loss, "loss", "", errors);
  m.errors.Add(place, errors);
  if (def == nullptr) return {};
  const auto& args =
      static_cast<const proto::LossArgs&>(loss.GetReflection()->GetMessage(loss, ChosenKind(loss)));
  const std::string& field = def->fields.back();
  const Tensor* labels = m.Argument(place, def->name + ".labels", args.labels());
  const Tensor* predictions = m.Argument(place, absl::StrCat(def->name, ".", field),
                                         field == "logits" ? args.logits() : args.predictions());
  if (labels == nullptr || predictions == nullptr) return {};
  const bool from_label = labels->from_label || predictions->from_label;
  for (const Tensor* tensor : {labels, predictions}) {
    if (!tensor->known()) return {.state = tensor->state, .from_label = from_label};
  }
  ScopedName scope(m.b, term.name);
  std::string mistake;
  term.elements = def->build(m.b, labels->value, predictions->value, &mistake);
  if (!mistake.empty()) {
    m.errors.Add(place, def->name, mistake);
    return {};
  }
  term.weights = WeightsLike(m, place, def->name + ".weights", args.weights(), term.elements);
  return {.state = Tensor::State::kKnown, .value = term.elements, .from_label = from_label};
}

}  // namespace

// ---- sparse_softmax_cross_entropy: l = log(sum_j exp(z_j)) - z_label

Value SparseSoftmaxCrossEntropyLoss(GraphBuilder& b, Value labels, Value logits,
                                    std::string* mistake) {
  const Shape z = b.shape(logits);
  const Shape y = b.shape(labels);
  if (z.dtype != DType::kF32 || z.rank() < 2) {
    *mistake =
        absl::StrCat("logits must be f32[N,C], one value for each class, got ", BatchShapeText(z));
    return {};
  }
  if (!IsWhole(y.dtype)) {
    *mistake = absl::StrCat("labels must be class ids, INT32 or INT64, got ", BatchShapeText(y));
    return {};
  }
  const int64_t classes = z.dims.back();
  const Shape rows = {y.dtype, {z.dims.begin(), z.dims.end() - 1}};
  const Value ids = AlignTo(b, labels, rows);
  if (!ids.valid()) {
    *mistake = absl::StrCat("labels must be one class id for each row of logits, want ",
                            BatchShapeText(rows), ", got ", BatchShapeText(y), " for logits ",
                            BatchShapeText(z));
    return {};
  }
  if (z.rank() == 2) return SparseSoftmaxCrossEntropy(b, logits, ids);
  const int64_t n = z.num_elements() / classes;
  const Value losses =
      SparseSoftmaxCrossEntropy(b, Reshape(b, logits, {n, classes}), Reshape(b, ids, {n}));
  return Reshape(b, losses, rows.dims);
}

// ---- mean_squared_error: l = (p - y)^2

Value MeanSquaredErrorLoss(GraphBuilder& b, Value labels, Value predictions, std::string* mistake) {
  const Shape p = b.shape(predictions);
  if (p.dtype != DType::kF32) {
    *mistake = absl::StrCat("predictions must be f32, got ", BatchShapeText(p));
    return {};
  }
  const Value targets = AlignTo(b, Convert(b, labels, DType::kF32), p);
  if (!targets.valid()) {
    *mistake =
        absl::StrCat("labels and predictions must have one shape, got labels ",
                     BatchShapeText(b.shape(labels)), " and predictions ", BatchShapeText(p));
    return {};
  }
  return Square(b, Sub(b, predictions, targets));
}

const std::vector<LossDef>& LossList() {
  static const std::vector<LossDef>& list = *new std::vector<LossDef>{
      {.name = "mean_squared_error",
       .fields = {"labels", "weights", "predictions"},
       .build = MeanSquaredErrorLoss},
      {.name = "sparse_softmax_cross_entropy",
       .fields = {"labels", "weights", "logits"},
       .build = SparseSoftmaxCrossEntropyLoss},
  };
  return list;
}

bool IsWhole(DType dtype) { return dtype == DType::kS32 || dtype == DType::kS64; }

Value AlignTo(GraphBuilder& b, Value y, const Shape& like) {
  const std::vector<int64_t> dims = b.shape(y).dims;
  if (dims == like.dims) return y;
  std::vector<int64_t> longer = dims.size() > like.dims.size() ? dims : like.dims;
  const std::vector<int64_t>& shorter = dims.size() > like.dims.size() ? like.dims : dims;
  if (longer.back() != 1) return {};
  longer.pop_back();
  return longer == shorter ? Reshape(b, y, like.dims) : Value{};
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

void BuildLosses(ModelContext& m) {
  for (int i = 0; i < m.spec.loss_size(); ++i) {
    const proto::Loss& loss = m.spec.loss(i);
    const ConfigPlace place = LossPlace(loss, i);
    m.RequireName(place, NameKind::kKey, loss.name());
    LossTerm term{.name = loss.name(), .factor = loss.weight()};
    const Tensor tensor = BuildLoss(m, loss, place, term);
    if (tensor.known()) m.losses.push_back(term);
    m.tensors.Declare(loss.name(), tensor, place, m.errors);
  }
}

Value ReduceLoss(GraphBuilder& b, const LossTerm& term) {
  ScopedName scope(b, term.name);
  Value loss;
  if (term.weights.valid()) {
    const Value sum = ReduceSum(b, Mul(b, term.elements, term.weights));
    const Value present = ReduceSum(b, NonZero(b, term.weights), {}, "num_present");
    // No weight that counts: the sum is 0, and so is the loss.
    loss = Div(b, sum, Maximum(b, present, Scalar(b, 1)), "value");
  } else {
    loss = ReduceMean(b, term.elements, {}, "value");
  }
  return term.factor == 1 ? loss : Mul(b, loss, Scalar(b, term.factor));
}

Value TotalLoss(GraphBuilder& b, const std::vector<LossTerm>& terms) {
  Value total = ReduceLoss(b, terms[0]);
  for (size_t i = 1; i < terms.size(); ++i) total = Add(b, total, ReduceLoss(b, terms[i]), "loss");
  return total;
}

Value MaskRows(GraphBuilder& b, Value x, Value row_weight) {
  const std::vector<int64_t> dims = b.shape(x).dims;
  const Value weights = dims.size() == 1 ? row_weight : Broadcast(b, row_weight, dims, {0});
  // Not a product: what a padding row holds may be infinite.
  return Select(b, Greater(b, weights, Scalar(b, 0)), x, Scalar(b, 0));
}

Value RowSums(GraphBuilder& b, Value x, Value row_weight) {
  const Value masked = MaskRows(b, x, row_weight);
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis < b.shape(x).rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? masked : ReduceSum(b, masked, axes);
}

EvalMetric LossMetric(GraphBuilder& b, const std::vector<LossTerm>& terms, Value row_weight) {
  ScopedName scope(b, "metrics/loss");
  EvalMetric metric{.name = "loss"};
  std::vector<double> factors;
  for (const LossTerm& term : terms) {
    Value elements = term.elements;
    Value present = Constant(b, DType::kF32, b.shape(elements).dims, 1);
    if (term.weights.valid()) {
      elements = Mul(b, elements, term.weights);
      present = NonZero(b, term.weights);
    }
    metric.statistics.push_back(RowSums(b, elements, row_weight));
    metric.statistics.push_back(RowSums(b, present, row_weight));
    factors.push_back(term.factor);
  }
  metric.result = [factors](std::span<const double> sums) {
    double loss = 0;
    for (size_t i = 0; i < factors.size(); ++i) {
      if (sums[2 * i + 1] != 0) loss += factors[i] * sums[2 * i] / sums[2 * i + 1];
    }
    return loss;
  };
  return metric;
}

}  // namespace tpurun
