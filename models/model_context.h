// The state of one run of the model function: the graph under construction and what it is for.
#ifndef TPURUN_MODELS_MODEL_CONTEXT_H_
#define TPURUN_MODELS_MODEL_CONTEXT_H_

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
  std::string name;   // of its `loss` entry; of a head's: the kind of loss
  double factor = 1;  // in the sum of all losses
  Value elements;     // f32 (batch, ...)
  Value weights;      // of the shape of elements; invalid: 1 each
};

struct ModelContext {
  const proto::ModelSpec& spec;
  const ModelFnArgs& args;
  GraphBuilder& b;
  ConfigErrors& errors;
  Precision precision = Precision::kDefault;
  int64_t positions = 0;  // as of EstimatorSpec
  Value row_weight;       // EVAL and PREDICT: f32[batch], 0 for a row that is padding

  Tensors tensors;
  std::vector<BuiltLayer> layers;
  std::vector<LossTerm> losses;
  std::vector<NamedValue> predictions;
  std::vector<ExportOutput> export_outputs;
  std::vector<EvalMetric> metrics;
  // TRAIN: heads' metrics of one core's rows, f32[]; invalid unless a summary is of it.
  std::map<std::string, Value> batch_metrics;
  std::map<std::string, ConfigPlace> prediction_places;
  std::map<std::string, ConfigPlace> metric_places;

  // The tensor of that name as an argument `field` of the element at `place`: reports a name that
  // is missing or unknown. Null after a mistake.
  const Tensor* Argument(const ConfigPlace& place, const std::string& field,
                         const std::string& name);
  // Reports a name of another kind; a key that is missing is for whoever needs it.
  void RequireName(const ConfigPlace& place, NameKind kind, const std::string& name);
  // Reports patterns that match no variable: a slip of the hand would choose the wrong ones in
  // silence.
  void CheckMatches(const ConfigPlace& place, const std::string& field,
                    const google::protobuf::RepeatedPtrField<std::string>& expressions);
  // Adds one, reporting a name that is no key, missing, reserved or there already.
  void AddPrediction(const ConfigPlace& place, const std::string& name, Value value);
  void AddMetric(const ConfigPlace& place, EvalMetric metric);
};

}  // namespace tpurun

#endif  // TPURUN_MODELS_MODEL_CONTEXT_H_
