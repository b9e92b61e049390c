// What TensorBoard's projector needs beside the checkpoints.
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
  std::map<std::string, std::string> metadata;  // by file name in model_dir

  // Of variables of `graph`. InvalidArgument for a vocabulary that has not a line for each row,
  // or a tab.
  static absl::StatusOr<Projector> Read(const std::vector<Embedding>& embeddings,
                                        const Graph& graph);
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PROJECTOR_H_
