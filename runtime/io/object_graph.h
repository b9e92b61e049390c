// Object-based checkpoints, those of tf.train.Checkpoint, Keras and SavedModels of TensorFlow 2:
// their keys are paths of objects, and a tensor says which variable each is of.
#ifndef TPURUN_RUNTIME_IO_OBJECT_GRAPH_H_
#define TPURUN_RUNTIME_IO_OBJECT_GRAPH_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {

// The tensor that says it; a bundle without it is no object-based checkpoint.
inline constexpr char kObjectGraph[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
// What the keys of variables end in: "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE".
inline constexpr char kVariableValue[] = "/.ATTRIBUTES/VARIABLE_VALUE";

// The variables' own names ("dense/kernel", may be empty) by key; empty where the bundle is none.
absl::StatusOr<std::map<std::string, std::string>> FullNames(const BundleReader& reader);

// Whether a model in it numbers its layers, as Keras' functional and sequential models do, in the
// order in which they are built. The lists of variables of others are in the order of attributes.
absl::StatusOr<bool> NumbersLayers(const BundleReader& reader);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_OBJECT_GRAPH_H_
