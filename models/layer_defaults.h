// ModelSpec::layer_defaults: what a layer has where it says nothing.
#ifndef TPURUN_MODELS_LAYER_DEFAULTS_H_
#define TPURUN_MODELS_LAYER_DEFAULTS_H_

#include <map>
#include <string>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"

namespace tpurun {

// Whether layers are written in a layer of that kind, a field of proto::Layer: it has no defaults.
bool HoldsLayers(const google::protobuf::FieldDescriptor& kind);

void CheckLayerDefaults(const proto::ModelSpec& spec, ConfigErrors& errors);

// The layer with the defaults of its kind under it, the last of several first, field by field, but
// those that it cannot use (LayerDef::needs).
// `paths`: where each field that they gave stands, "dense.units" ->
// "model.layer_defaults[0].dense.units".
void MergeLayerDefaults(const proto::ModelSpec& spec, const proto::Layer& written,
                        proto::Layer* merged, std::map<std::string, std::string>* paths);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYER_DEFAULTS_H_
