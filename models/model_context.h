// The state of one call of the model function: the graph under construction, its purpose, and the
// losses, predictions and metrics added so far.
#ifndef TPURUN_MODELS_MODEL_CONTEXT_H_
#define TPURUN_MODELS_MODEL_CONTEXT_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/tensors.h"
#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/base/names.h"
#include "runtime/ops/ops.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// A loss before it is reduced.
struct LossTerm {
  std::string name;  // the name of the `loss` entry; for a head, KIND_OF_LOSS_loss
  std::string key;  // its name among the model's losses: that of the entry, of the head or its kind
  double factor = 1;  // the factor of this loss in the sum of all losses
  proto::Loss::Reduction reduction = proto::Loss::SUM_BY_NONZERO_WEIGHTS;  // not NONE
  Value elements;                                                          // f32 (batch, ...)
  Value weights;  // in the shape of `elements`; invalid if each weight is 1
};

// The purpose of a graph: one mode, or all modes at once to check the spec.
struct Purpose {
  bool train = false;
  bool evaluate = false;
  bool predict = false;

  static Purpose Of(ModeKey mode) {
    return {mode == ModeKey::kTrain, mode == ModeKey::kEval, mode == ModeKey::kPredict};
  }
  static Purpose Check() { return {true, true, true}; }
  bool is_check() const { return train && predict; }
  bool has_losses() const { return train || evaluate; }
  bool has_predictions() const { return evaluate || predict; }
};

struct ModelContext {
  const proto::ModelSpec& spec;
  const ModelFnArgs& args;
  const Purpose purpose;
  GraphBuilder& b;
  ConfigErrors& errors;
  Precision precision = Precision::kDefault;
  int64_t positions = 0;  // EstimatorSpec::positions
  Value row_weight;       // EVAL and PREDICT: f32[batch], 0 for a padding row

  Tensors tensors;
  std::vector<BuiltLayer> layers;
  std::vector<LossTerm> losses;
  std::vector<NamedValue> predictions;
  // What the heads predict, by the name of the prediction. `heads_complete` is false if a head
  // predicts nothing, because of a mistake or because its logits are not known.
  std::map<std::string, Tensor> head_predictions;
  bool heads_complete = true;
  std::vector<ExportOutput> export_outputs;
  std::vector<EvalMetric> metrics;
  // TRAIN: the heads' metrics by name, over one core's rows, f32[]. A value is invalid if no
  // summary reads it.
  std::map<std::string, Value> batch_metrics;
  std::map<std::string, ConfigPlace> prediction_places;
  std::map<std::string, ConfigPlace> metric_places;
  std::set<std::string> head_metrics;  // the names of metrics that heads have added
  std::map<std::string, const proto::Head*> metric_heads;  // by the names of metrics of heads
  // EstimatorSpec::class_names
  std::map<std::string, std::vector<std::string>> class_names;

  // Returns the tensor that the field `field` of the entry at `place` names. Reports an empty or
  // unknown name and then returns nullptr. With or_of_head the name may be that of a head's
  // prediction. A name of two different values is reported.
  const Tensor* Argument(const ConfigPlace& place, const std::string& field,
                         const std::string& name, bool or_of_head = false);
  // Reports a name that breaks the rules of `kind`. An empty key is not reported: the caller
  // reports it if it needs the key.
  void RequireName(const ConfigPlace& place, NameKind kind, const std::string& name);
  // Reports patterns that match no variable: they are probably typing errors. A pattern that does
  // not parse is ignored here.
  void CheckMatches(const ConfigPlace& place, const std::string& field,
                    const google::protobuf::RepeatedPtrField<std::string>& expressions);
  // AddPrediction and AddMetric report a name that is empty, not a key, or used already. AddMetric
  // also reports a reserved name. An invalid value, or a metric without statistics, is not added.
  void AddPrediction(const ConfigPlace& place, const std::string& name, Value value);
  void AddMetric(const ConfigPlace& place, EvalMetric metric);
  // The same for a metric that a head has by default. A later AddMetric of its name replaces it, as
  // tf.estimator.add_metrics does.
  void AddHeadMetric(const ConfigPlace& place, EvalMetric metric);
};

}  // namespace tpurun

#endif  // TPURUN_MODELS_MODEL_CONTEXT_H_
