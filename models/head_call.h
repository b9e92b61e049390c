// What the heads have in common: finding their tensors, adding their loss, their metrics and their
// predictions.
#ifndef TPURUN_MODELS_HEAD_CALL_H_
#define TPURUN_MODELS_HEAD_CALL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "models/losses.h"
#include "models/model_context.h"

namespace tpurun {

// The arguments that a head's loss, metrics and predictions share.
struct HeadCall {
  ModelContext& m;
  const ConfigPlace& place;
  const proto::Head& head;
  std::string kind;  // the head's field in the oneof
  // The tensors of the head. A tensor that is not known in this mode is invalid.
  Value logits = {};
  Value label = {};
  Value mask = {};     // the mask of the logits
  Value counted = {};  // as Tensor::counted, of the label

  // The full name of a prediction of the head.
  std::string Key(const std::string& name) const;
  // The full name of a metric. If a head before it, of another kind and without a name too, has
  // that metric, it is KIND/NAME.
  std::string MetricKey(const std::string& name) const;
  // Adds an error at a field of the head.
  void Fail(const std::string& field, const std::string& message) const;
};

// Sets the tensors of `call`. Reports mistakes and then returns false.
bool FindTensors(HeadCall& call, const std::string& logits, const std::string& label);

// The logits that a head wants.
struct WantedLogits {
  int rank = 2;
  int max_rank = rank;
  bool one_logit = false;  // a last dimension of 1 is allowed
  std::string text;        // in words, for messages
};

// True if the logits are as wanted, or not known. Reports other logits. `function` is the function
// that the head itself applies to them: warns if they are its results already.
bool CheckLogits(const HeadCall& call, const std::string& name, const WantedLogits& want,
                 const std::string& function);

// Returns the values of a repeated field as f32[size], where one value stands for all; an invalid
// Value if the field is empty. Reports another number of values and then returns an invalid Value.
// `each` is what each value is for: "class".
Value PerClass(const HeadCall& call, const std::string& field,
               const google::protobuf::RepeatedField<float>& values, int64_t size,
               const std::string& each);

// Reports a label_vocabulary that does not have as many names as there are classes, or has one
// twice or in other bytes than UTF-8.
void CheckVocabulary(const HeadCall& call,
                     const google::protobuf::RepeatedPtrField<std::string>& names, int64_t classes);

// Reports a label_vocabulary that differs from the one by which the input makes ids of the label.
void CheckNamesOfLabel(const HeadCall& call, const std::string& label,
                       const google::protobuf::RepeatedPtrField<std::string>& names);

// Returns a label of whole numbers as f32, 0 or 1. It is read from a table, so that the check of
// the input finds any other label; without that check such a label becomes NaN.
Value BinaryTargets(GraphBuilder& b, Value label);

// Returns the factor of each label by its class in training, f32 in the shape of the label. Invalid
// without `weights`, which are those of the head's field class_weight, in other modes, and after a
// mistake in them, which is reported.
Value ClassWeights(const HeadCall& call, const google::protobuf::RepeatedField<float>& weights,
                   int64_t classes);

// Adds the loss of (labels, logits), with its weights, to the model and returns it.
// `training_weights`, one for each label, are further weights in training, which the result does
// not have; they may be invalid. Returns nullopt if labels or logits are not known, if the purpose
// needs no loss, or after a mistake.
std::optional<LossTerm> AddLoss(const HeadCall& call, const LossDef& loss,
                                const proto::LossArgs& args, Value training_weights = {});

// A function of a mean, on the host and in a graph. nullptr: the mean itself.
struct OfMean {
  double (*number)(double mean) = nullptr;
  Value (*value)(GraphBuilder& b, Value mean) = nullptr;
};

// Adds the metric of_mean(mean of values_of()), with the weights of the loss. In training it is
// only computed if a summary reads it.
void AddMeanMetric(const HeadCall& call, const LossTerm& loss, const std::string& name,
                   const std::function<Value(ConfigErrors& errors)>& values_of,
                   OfMean of_mean = {});

// EVAL: adds a metric of MetricList() for (labels, predictions), with the weights of the loss.
// `args` are its other arguments.
void AddListedMetric(const HeadCall& call, const LossTerm& loss, const std::string& name,
                     const std::string& listed, const proto::MetricArgs& args, Value labels,
                     Value predictions);

}  // namespace tpurun

#endif  // TPURUN_MODELS_HEAD_CALL_H_
