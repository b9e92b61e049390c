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

// Checks the whole spec, shapes included, in every mode for that many replicas; after a mistake,
// which is in `errors`, the result is null. The ModelFn holds copies of both arguments; the
// OptimizerSpecs that it returns point into its copy and live as long as any copy of the ModelFn.
ModelFn MakeModelFn(const proto::ModelSpec& spec, const SourceLocations& locations,
                    ConfigErrors& errors, const Topology& topology = {});

// What of the ModelSpec is acted on.
std::vector<ReadFields> ReadModelFields();

// What decides the values that the model computes: features and labels, layers, heads, losses,
// precisions, whether there are moving averages, and the groups of replicas of optimizers that have
// any, written out so that two specs of one model are equal but for fields that are set to
// protobuf's default. Layers are in a row, each with its full name, those of its inputs and with
// layer_defaults merged; initializers and who is trained are left out. Of a spec that MakeModelFn
// takes.
proto::ModelSpec WrittenOutModel(const proto::ModelSpec& spec);

// What the input must feed, in the order of the infeed slots: features, then labels. Elements that
// MakeModelFn refuses (an unknown type) are left out.
std::vector<FeatureSpec> ModelFeatures(const proto::ModelSpec& spec);

}  // namespace tpurun

#endif  // TPURUN_MODELS_MODEL_BUILDER_H_
