// Losses: their elements and how the elements are reduced. In training, each core reduces its rows.
// In evaluation, the same ratio is computed over all rows.
#ifndef TPURUN_MODELS_LOSSES_H_
#define TPURUN_MODELS_LOSSES_H_

#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// The arguments of LossDef::build. Labels and predictions have the shape (batch, ...).
struct LossCall {
  GraphBuilder& b;
  Value labels;
  Value predictions;            // or logits
  const proto::LossArgs& args;  // other arguments; a head copies them from its own fields
  ConfigErrors& errors;         // its paths are relative to `args`

  // Adds an error for a field of `args`, or for `args` as a whole if `field` is empty. Returns an
  // invalid Value.
  Value Fail(const std::string& message, const std::string& field = "");
};

// One row of the table in losses.cc: a function of labels and predictions.
struct LossDef {
  std::string name;                // the loss's field in proto Loss's oneof
  Value (*build)(LossCall& call);  // returns the elements, f32 (batch, ...)
};

const std::vector<LossDef>& LossList();

// True for s32 and s64, the types of class ids.
bool IsWhole(DType dtype);
// True if labels of this type can be class ids. Adds an error otherwise.
bool CheckClassIds(const Shape& labels, ConfigErrors& errors);

// Returns y reshaped to `like` if the two shapes differ at most by a last dimension of 1: (N, 1)
// and (N). Returns an invalid Value if they differ otherwise.
Value AlignTo(GraphBuilder& b, Value y, const Shape& like);

// Returns the labels as f32 in the shape of the predictions. If the shapes do not fit, adds an
// error and returns an invalid Value. Messages call the predictions `noun`.
Value LabelsLike(GraphBuilder& b, Value labels, Value predictions, const std::string& noun,
                 ConfigErrors& errors);

// Returns the tensor `name` of an optional `weights` field as f32 in the shape of `like`. The
// tensor has that shape or one weight for each row: (N) or (N, 1). Returns an invalid Value if
// `name` is empty, if the tensor is not known in this mode, or after a mistake, which is reported.
Value WeightsLike(ModelContext& m, const ConfigPlace& place, const std::string& field,
                  const std::string& name, Value like);

// Returns the weights of `elements` times the mask (N, T), which is 0 at padding, as Keras masks a
// loss. Returns `weights` if `mask` is invalid or `elements` has no time axis, and the mask alone
// if `weights` is invalid.
Value MaskedWeights(GraphBuilder& b, Value weights, Value mask, Value elements);

// Returns the weights of `elements` times Tensor::counted of their label, or `weights` if that is
// invalid. Reports a label whose values are not one for each of the elements, under
// `field`, and then returns an invalid Value.
Value MaskedByLabel(ModelContext& m, const ConfigPlace& place, const std::string& field,
                    Value weights, Value counted, Value elements);

// Builds the model's own `loss` entries and declares each under its name. A loss that depends on an
// absent label is left out.
void BuildLosses(ModelContext& m);

// The loss of one core's rows in training, f32[] each.
struct TrainLoss {
  Value total;  // the sum of the reduced losses times their factors, and of the regularization
  // The reduced losses without their factors, as losses/KEY, and losses/regularization. Empty if
  // there is only one, which is the total.
  std::vector<NamedValue> parts;
};
// TRAIN: reduces the losses. A loss whose weights are all 0 is 0. Each element of `regularization`
// is f32[rows], with any number of rows.
TrainLoss ReduceLosses(GraphBuilder& b, const std::vector<LossTerm>& terms,
                       const std::vector<Value>& regularization);

// Returns x (N, ...) with zeros in the rows that are padding (row_weight 0).
Value MaskRows(GraphBuilder& b, Value x, Value row_weight);
// Returns the sum of each row of MaskRows(x), f32[N].
Value RowSums(GraphBuilder& b, Value x, Value row_weight);

// EVAL: returns the metric `loss`, then TrainLoss::parts: the formulas of ReduceLosses with the sum
// and the count over all rows of the evaluation.
std::vector<EvalMetric> LossMetrics(GraphBuilder& b, const std::vector<LossTerm>& terms,
                                    const std::vector<Value>& regularization, Value row_weight);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LOSSES_H_
