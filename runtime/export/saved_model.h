// Writes an exported model as a SavedModel: saved_model.pb, variables/ and, if there are any,
// assets/, as TensorFlow 1.x writes them.
// Source: tensorflow/python/saved_model/builder_impl.py,
// tensorflow/core/protobuf/saved_model.proto.
#ifndef TPURUN_RUNTIME_EXPORT_SAVED_MODEL_H_
#define TPURUN_RUNTIME_EXPORT_SAVED_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/export/exported_model.h"

namespace tpurun {

inline constexpr char kPredictMethod[] = "tensorflow/serving/predict";
inline constexpr char kServingDefault[] = "serving_default";

struct Signature {
  std::string key;
  std::string method;
  std::vector<ExportedTensor> inputs;
  std::vector<ExportedTensor> outputs;
  std::string doc = {};  // description of the inputs, for people
};

struct SavedModelContents {
  ExportGraph graph;  // in TensorFlow's ops
  std::vector<Signature> signatures;
  // The tags of each meta graph. All meta graphs have the same graph. Never empty.
  std::vector<std::vector<std::string>> tag_sets;
  // The bytes of the variable with that key in the graph, row-major and little-endian, as many as
  // its type and shape require.
  std::function<std::string_view(const std::string& key)> value_of;
  int64_t global_step = 0;  // stored as a variable of the SavedModel, as an Estimator does
  // The bytes of the files in assets/, by name. A program that loads the SavedModel gets their
  // paths.
  std::map<std::string, std::string> assets;
};

// Writes the files durably into `dir`, which must exist.
absl::Status WriteSavedModel(SavedModelContents contents, const std::string& dir);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_SAVED_MODEL_H_
