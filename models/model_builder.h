// Turns a ModelSpec into a ModelFn: features and labels, layers, heads, losses, metrics,
// optimizers.
#ifndef TPURUN_MODELS_MODEL_BUILDER_H_
#define TPURUN_MODELS_MODEL_BUILDER_H_

#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "proto/source_locations.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// A model spec that has been checked.
struct ParsedModel {
  // nullptr after an error. It has its own copies of the spec and the locations.
  ModelFn model_fn;
  // The features and labels that the input must feed, in the order of the infeed slots. Features
  // and labels whose type or shape the target refuses are left out.
  std::vector<FeatureSpec> features;
  // The part of the spec that decides the values that the model computes: features and labels,
  // layers, heads, losses, precisions, whether there are moving averages, and the groups of
  // replicas of optimizers that have groups. Two specs of one model have equal canonical specs,
  // except for fields that are set to protobuf's default. Layers are in one flat list. Each has its
  // full name, the full names of its inputs, and its layer_defaults merged in. Initializers and
  // `trainable` are left out. Empty after an error.
  proto::ModelSpec canonical;
};

// Checks the whole spec for every mode, shapes included. It builds one graph that has the nodes of
// all modes, for the topology, device, use_tpu and strict_dtypes of `target`. Adds all errors and
// warnings to `errors`.
ParsedModel ParseModel(const proto::ModelSpec& spec, const SourceLocations& locations,
                       ConfigErrors& errors, const ModelFnArgs& target = {});

// Returns ParsedModel::features of a spec that may have mistakes.
std::vector<FeatureSpec> ModelFeatures(const proto::ModelSpec& spec,
                                       const ModelFnArgs& target = {});

}  // namespace tpurun

#endif  // TPURUN_MODELS_MODEL_BUILDER_H_
