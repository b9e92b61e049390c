// ModelSpec::layer_defaults: the values of the fields that a layer does not set.
#ifndef TPURUN_MODELS_LAYER_DEFAULTS_H_
#define TPURUN_MODELS_LAYER_DEFAULTS_H_

#include <map>
#include <string>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"

namespace tpurun {

// True if a layer of this kind (a field of proto::Layer) contains other layers. Such a kind has no
// defaults.
bool HoldsLayers(const google::protobuf::FieldDescriptor& kind);

// Reports entries of layer_defaults without a kind, of a kind that has no defaults, or with a name,
// inputs or `reuse`.
void CheckLayerDefaults(const proto::ModelSpec& spec, ConfigErrors& errors);

// Sets *merged to `written` plus the defaults of its kind, field by field, for the fields that
// `written` does not set. If several defaults set a field, the last of them is used. Defaults that
// other fields of the layer make meaningless (field rules `excludes` and `needs`) are left out.
// Adds the path of each field that a default set to *paths: "dense.units" ->
// "model.layer_defaults[0].dense.units".
void MergeLayerDefaults(const proto::ModelSpec& spec, const proto::Layer& written,
                        proto::Layer* merged, std::map<std::string, std::string>* paths);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYER_DEFAULTS_H_
