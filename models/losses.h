// Losses: values for each row and how they are reduced, SUM_BY_NONZERO_WEIGHTS on each core in
// training, the same ratio over all rows in evaluation.
#ifndef TPURUN_MODELS_LOSSES_H_
#define TPURUN_MODELS_LOSSES_H_

#include <string>
#include <vector>

#include "models/model_context.h"

namespace tpurun {

// What a loss compares, (batch, ...) each.
struct LossCall {
  GraphBuilder& b;
  Value labels;
  Value predictions;            // or logits
  const proto::LossArgs& args;  // what else it is told; of a head, what that is told
  std::string mistake, field;   // set by Fail

  // What does not fit, of a field of `args` or of them all; returns no value.
  Value Fail(const std::string& what, const std::string& of_field = "");
};

// One row of the table in losses.cc: a function of targets and predictions.
struct LossDef {
  std::string name;                // of its field in proto Loss's oneof
  Value (*build)(LossCall& call);  // f32 (batch, ...)
};

const std::vector<LossDef>& LossList();

// s32 or s64: the types of class ids.
bool IsWhole(DType dtype);
// Why `labels` cannot be class ids, for an error message; empty where they can.
std::string MistakeOfClassIds(const Shape& labels);

// y reshaped to `like`, where the two differ at most by a last dimension of 1: (N, 1) and (N).
// Invalid where they differ otherwise.
Value AlignTo(GraphBuilder& b, Value y, const Shape& like);

// The labels as f32 of the predictions' shape; invalid, and *mistake, where they do not fit. `noun`
// is what the predictions are called.
Value LabelsLike(GraphBuilder& b, Value labels, Value predictions, const std::string& noun,
                 std::string* mistake);

// The tensor named by an optional `weights` field as f32 of the shape of `like`: given so, or for
// each row ((N) or (N,1)). Invalid when `name` is empty or after a mistake, which is reported.
Value WeightsLike(ModelContext& m, const ConfigPlace& place, const std::string& field,
                  const std::string& name, Value like);

// Weights of `elements` that are 0 where a position (N,T) of the mask is padding, as Keras masks a
// loss; `weights` where there is no mask, and the mask's alone where these are invalid.
Value MaskedWeights(GraphBuilder& b, Value weights, Value mask, Value elements);

// The model's own `loss` entries; declares each under its name. A loss that depends on an absent
// label is left out.
void BuildLosses(ModelContext& m);

// TRAIN: factor * sum(w l) / count(w != 0), f32[], 0 when every weight is 0; the sum of them all.
Value ReduceLoss(GraphBuilder& b, const LossTerm& term);
// `regularization`: further terms, f32[rows] of any number of rows.
Value TotalLoss(GraphBuilder& b, const std::vector<LossTerm>& terms,
                const std::vector<Value>& regularization);

// x (N, ...) with zeros for the rows that are padding, and the sum of each row, f32[N].
Value MaskRows(GraphBuilder& b, Value x, Value row_weight);
Value RowSums(GraphBuilder& b, Value x, Value row_weight);

// EVAL: the metric `loss`, the same formula with both sums over all rows of the evaluation.
EvalMetric LossMetric(GraphBuilder& b, const std::vector<LossTerm>& terms,
                      const std::vector<Value>& regularization, Value row_weight);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LOSSES_H_
