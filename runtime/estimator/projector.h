// The files that TensorBoard's projector needs beside the checkpoints.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PROJECTOR_H_
#define TPURUN_RUNTIME_ESTIMATOR_PROJECTOR_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/projector.pb.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

struct Projector {
  tensorflow::ProjectorConfig config;
  std::map<std::string, std::string> metadata;  // contents by file name in model_dir

  // Reads the vocabularies of variables of `graph`. InvalidArgument if a vocabulary does not have
  // one line for each row, or has a tab.
  static absl::StatusOr<Projector> Read(const std::vector<Embedding>& embeddings,
                                        const Graph& graph);
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PROJECTOR_H_
