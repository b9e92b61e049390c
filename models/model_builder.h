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

// Checks the whole spec, shapes included, in every mode, for the topology, use_tpu and
// strict_dtypes of `target`; after a mistake, which is in `errors` beside the warnings, the result
// is null. The ModelFn holds copies of both arguments; the OptimizerSpecs that it returns point
// into its copy and live as long as any copy of the ModelFn.
ModelFn MakeModelFn(const proto::ModelSpec& spec, const SourceLocations& locations,
                    ConfigErrors& errors, const ModelFnArgs& target = {});

// What decides the values that the model computes: features and labels, layers, heads, losses,
// precisions, whether there are moving averages, and the groups of replicas of optimizers that have
// any, written out so that two specs of one model are equal but for fields that are set to
// protobuf's default. Layers are in a row, each with its full name, those of its inputs and with
// layer_defaults merged; initializers and who is trained are left out. Of a spec that MakeModelFn
// takes.
proto::ModelSpec WrittenOutModel(const proto::ModelSpec& spec);

// What the input must feed, in the order of the infeed slots: features, then labels. Those that
// MakeModelFn refuses for that target (a type, a shape) are left out.
std::vector<FeatureSpec> ModelFeatures(const proto::ModelSpec& spec,
                                       const ModelFnArgs& target = {});

}  // namespace tpurun

#endif  // TPURUN_MODELS_MODEL_BUILDER_H_
