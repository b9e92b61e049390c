// Finds the variables of a model in an object-based checkpoint (Keras, tf.train.Checkpoint, a
// SavedModel of TensorFlow 2), whose keys are paths of objects and not names of variables.
#ifndef TPURUN_RUNTIME_CHECKPOINT_OBJECT_VARIABLES_H_
#define TPURUN_RUNTIME_CHECKPOINT_OBJECT_VARIABLES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {

struct ModelVariable {
  std::string name;
  std::vector<int64_t> dims;
  bool wanted = true;  // false: the variable only helps to match the others by their order
};

struct ObjectMatch {
  std::map<std::string, std::string> keys;  // key by name, for the wanted variables
  std::vector<std::string> left;            // keys of the other variables of the saved model
};

// Variables match by their full names if all of them exist with their shapes. Else layers match if
// their variables have the same last names and shapes. If several layers match, the order of the
// layers decides, if Keras numbers them. Both ways are tried for all variables of the model and
// then for the wanted ones only; the first that leaves exactly one answer counts. InvalidArgument
// lists the variables that stay ambiguous. Keys in `taken` are not matched. Variables are f32.
absl::StatusOr<ObjectMatch> MatchObjects(const std::vector<ModelVariable>& model,
                                         const BundleReader& reader,
                                         const std::vector<std::string>& taken);

// The key that a user means by `name`: `name` itself, the key without kVariableValue, or the full
// name of the variable. Returns `name` if there is no such key.
absl::StatusOr<std::string> ObjectKey(const BundleReader& reader, const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_OBJECT_VARIABLES_H_
