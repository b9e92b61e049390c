// Reads the graphs of models that TensorFlow or tpurun wrote.
#ifndef TPURUN_CLI_READ_SAVED_MODEL_H_
#define TPURUN_CLI_READ_SAVED_MODEL_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/saved_model.pb.h"

namespace tpurun {

struct ModelFile {
  std::string path;    // of the file
  std::string format;  // "SavedModel", "MetaGraphDef" or "GraphDef"
  // Of the last two, one meta graph.
  tensorflow::SavedModel model;
};

// `path` is a SavedModel (its folder, saved_model.pb or saved_model.pbtxt), the .meta file of a
// checkpoint, or a file with a GraphDef, whose name ends in .pbtxt if it is in text format.
// NotFound if there is no such file. DataLoss if it is damaged, or has no meta graph or no node.
absl::StatusOr<ModelFile> ReadModelFile(const std::string& path);

}  // namespace tpurun

#endif  // TPURUN_CLI_READ_SAVED_MODEL_H_
