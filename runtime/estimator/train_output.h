// TrainOutput: writes everything that a training writes to its model_dir, and removes it if the
// training fails in its first loop.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_OUTPUT_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_OUTPUT_H_

#include <cstdint>
#include <future>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "runtime/checkpoint/first_writes.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/train_checkpoints.h"
#include "runtime/estimator/train_events.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_program.h"
#include "runtime/estimator/train_start.h"

namespace tpurun {

class TrainOutput {
 public:
  // All arguments must outlive the object.
  TrainOutput(const EstimatorOptions& options, TrainPeers& peers, TrainStart& start,
              const TrainProgram& program, const TrainInput& input);

  const TrainCheckpoints& checkpoints() const { return checkpoints_; }
  TrainEvents& events() { return events_; }

  // Starts to make the text of the graph on another thread, while files are read and written.
  void PrepareGraph();
  // Makes and locks a model_dir that was absent when the training began. Returns false if the
  // directory is not empty: another training that began at the same time has used it meanwhile.
  // Unavailable and Cancelled as in LockModelDir.
  absl::StatusOr<bool> OpenDir();
  // After OpenDir: writes the first files, which are the effective configuration, the assets of the
  // input, the event file, the graph and the first checkpoint. Removes them if one fails.
  absl::Status Open();
  // Writes the files that are due after a loop that ended at `step`.
  absl::Status LoopDone(int64_t step, double loss, bool last);
  // PermissionDenied if model_dir has been moved.
  absl::Status CheckPath() const { return start_.dir.CheckPath(); }
  absl::Status Flush() { return events_.writer().Flush(); }
  // To be called after the first loop: a run that fails later leaves its files in place.
  void Keep();
  // Saves the checkpoint of `step` unless it exists or the configuration saves no checkpoints.
  absl::Status SaveIfNew(int64_t step);
  // After a failure at `step`: closes the files, or restores model_dir if Keep was not called.
  // Returns `status`.
  absl::Status Failed(int64_t step, absl::Status status);
  absl::Status Finish(int64_t step);
  // The prefix of the latest good checkpoint: before Keep, the resumed one. Empty if there is none.
  std::string LastGoodCheckpoint() const;

 private:
  // The graph in the formats of the files.
  struct GraphFiles {
    std::string text;   // graph.pbtxt
    std::string event;  // a serialized GraphDef
  };

  absl::Status WriteFirst();
  absl::StatusOr<bool> OpenNewDir();
  absl::Status WriteProto(const std::string& name, const google::protobuf::Message& message,
                          const std::string& heading = "");
  absl::Status WriteConfiguration();
  absl::Status WriteAsset(const std::string& name, const std::string& bytes);
  absl::Status WriteGraph();
  absl::Status WriteFirstCheckpoint();
  absl::Status Save(int64_t step);

  const EstimatorOptions& options_;
  TrainStart& start_;
  const TrainProgram& program_;
  const TrainInput& input_;
  TrainCheckpoints checkpoints_;
  std::future<GraphFiles> graph_files_;  // the thread reads program_.graph
  FirstWrites first_writes_;
  TrainEvents events_;
  bool loop_done_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_OUTPUT_H_
