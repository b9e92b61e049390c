// TrainPeers: the processes that train together. The first, the chief, decides what happens
// between loops and writes all files; the others follow its orders.
#ifndef TPURUN_RUNTIME_ESTIMATOR_TRAIN_PEERS_H_
#define TPURUN_RUNTIME_ESTIMATOR_TRAIN_PEERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/replay.h"
#include "runtime/estimator/train_input.h"
#include "runtime/estimator/train_program.h"
#include "runtime/estimator/train_start.h"

namespace tpurun {

// The parts of a checkpoint that each process has a share of.
struct TrainedState {
  VariableStore variables;     // with the copies of all replicas; shared values are not copied
  std::string input_position;  // of the pipelines of all processes
};

// What is known of a step whose loss or variables are not finite.
struct FailedStep {
  std::vector<std::byte> batch;  // LayoutOf(infeed) of all replicas
  int bucket = 0;                // of the batch
  VariableStore variables;       // at its start, with the copies of all replicas
  // Of each process: the origin of the last row of its share, or empty.
  std::vector<std::string> where;
};

// With a single process, which is its own chief, nothing is exchanged. All processes call the
// functions of a section in the same order. Unavailable: a process is gone or silent.
class TrainPeers {
 public:
  explicit TrainPeers(const EstimatorOptions& options)
      : options_(options), fabric_(options.fabric) {}
  TrainPeers(const TrainPeers&) = delete;
  TrainPeers& operator=(const TrainPeers&) = delete;

  bool is_chief() const { return IsChief(fabric_); }

  // ---- before the first step: all processes

  // The first error of a process, in each of them. It is the chief that reports it.
  absl::Status FirstError(const absl::Status& own);
  // The chief's start. That of the others has its checkpoint, read by themselves, and no directory.
  absl::StatusOr<TrainStart> ShareStart(absl::StatusOr<TrainStart> own);
  // What the chief says.
  absl::StatusOr<bool> Ask(bool of_chief);

  // ---- from then on: the chief

  // Begin a loop of so many steps, and the collection of a checkpoint's parts, in all processes.
  absl::Status BeginRun(int64_t iterations);
  absl::StatusOr<TrainedState> Collect(int64_t step, const TrainProgram& program,
                                       const TrainInput& input);
  // The same after RunResult::loss_not_finite. Stops the infeeds.
  absl::StatusOr<FailedStep> CollectFailedStep(int64_t step, const TrainProgram& program,
                                               TrainInput& input);
  // The same after RunResult::not_finite, by a Replay in all processes.
  absl::StatusOr<FailedStep> ReplayFailedStep(const ReplayArgs& args, TrainProgram& program,
                                              TrainInput& input);
  // Ends Follow: with the status that the training has, or to begin again from its start.
  void End(const absl::Status& status);
  void Restart();

  // ---- the others

  // Does what the chief orders, until it ends. Returns true if the training has to begin again, and
  // the chief's status.
  absl::StatusOr<bool> Follow(TrainProgram& program, TrainInput& input);

 private:
  struct Order {
    enum Kind : int64_t { kRun, kCollect, kCollectFailed, kReplay, kRestart, kEnd };
    Kind kind = kEnd;
    // kRun: iterations; kCollect..., kReplay: the step; kEnd: the status code
    int64_t number = 0;
  };

  absl::Status Give(const Order& order);
  absl::StatusOr<TrainedState> CollectHere(int64_t step, const TrainProgram& program,
                                           const TrainInput& input);
  absl::StatusOr<FailedStep> CollectFailedHere(int64_t step, const TrainProgram& program,
                                               TrainInput& input);
  absl::StatusOr<FailedStep> ReplayHere(ReplayArgs args, TrainProgram& program, TrainInput& input);

  const EstimatorOptions& options_;
  Fabric* const fabric_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_TRAIN_PEERS_H_
