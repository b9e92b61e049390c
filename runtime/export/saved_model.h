// An exported model as a SavedModel: saved_model.pb, variables/ and, if there are any, assets/, as
// TensorFlow 1.x writes them.
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
  std::string doc = {};  // what it takes, for people
};

struct SavedModelContents {
  ExportGraph graph;  // in TensorFlow's ops
  std::vector<Signature> signatures;
  // One meta graph each, all with the same graph; never empty.
  std::vector<std::vector<std::string>> tag_sets;
  // Of the variable of that key in the graph: as many bytes as its type and shape say, row-major
  // and little-endian.
  std::function<std::string_view(const std::string& key)> value_of;
  int64_t global_step = 0;  // a variable of the SavedModel, as an Estimator's
  // The bytes of files in assets/, by name. What loads the SavedModel gets their paths.
  std::map<std::string, std::string> assets;
};

// Writes the files into `dir`, which is there, each durably.
absl::Status WriteSavedModel(SavedModelContents contents, const std::string& dir);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_SAVED_MODEL_H_
