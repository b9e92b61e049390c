// Object-based checkpoints: the format of tf.train.Checkpoint, Keras and SavedModels of TensorFlow
// 2. Their keys are paths of objects, and one tensor says to which variable each key belongs.
#ifndef TPURUN_RUNTIME_IO_OBJECT_GRAPH_H_
#define TPURUN_RUNTIME_IO_OBJECT_GRAPH_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {

// The name of that tensor. A bundle without it is not an object-based checkpoint.
inline constexpr char kObjectGraph[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
// The suffix of the keys of variables: "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE".
inline constexpr char kVariableValue[] = "/.ATTRIBUTES/VARIABLE_VALUE";

// The name of each variable ("dense/kernel", may be empty) by its key. Empty if the bundle is not
// an object-based checkpoint.
absl::StatusOr<std::map<std::string, std::string>> FullNames(const BundleReader& reader);

// True if a model in the bundle numbers its layers in the order in which they are built, as Keras'
// functional and sequential models do. The variables of other models are listed in the order of
// attributes.
absl::StatusOr<bool> NumbersLayers(const BundleReader& reader);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_OBJECT_GRAPH_H_
