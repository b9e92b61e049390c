// Which variables of an object-based checkpoint (Keras, tf.train.Checkpoint, a SavedModel of
// TensorFlow 2) are those of a model: its keys are paths of objects, not names of variables.
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
  bool wanted = true;  // of the others, too, the place tells what is whose
};

struct ObjectMatch {
  std::map<std::string, std::string> keys;  // by name, of the variables that are wanted
  std::vector<std::string> left;            // keys of other variables of the saved model
};

// They are found by their full names, where all are there with their shapes; else a layer is one
// whose variables have the same last names and shapes, and of several such the layers' order
// decides, where Keras numbers them. The first of these that leaves exactly one answer for all
// variables of the model, else for those that are wanted; InvalidArgument lists what is left open.
// `taken` are keys that are no answer. Variables are f32.
absl::StatusOr<ObjectMatch> MatchObjects(const std::vector<ModelVariable>& model,
                                         const BundleReader& reader,
                                         const std::vector<std::string>& taken);

// The key that a user calls so: itself, without its end, or by the full name of the variable; the
// name as it is where there is none.
absl::StatusOr<std::string> ObjectKey(const BundleReader& reader, const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_OBJECT_VARIABLES_H_
