// Hooks: the shell commands that a configuration has run at moments of a training or an evaluation.
#ifndef TPURUN_RUNTIME_ESTIMATOR_HOOKS_H_
#define TPURUN_RUNTIME_ESTIMATOR_HOOKS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/run_config.pb.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

// What a command finds in its environment, as TPURUN_STEP and so on.
struct HookMoment {
  int64_t step = 0;
  std::string checkpoint;       // the latest one's prefix; may be empty
  std::optional<double> loss;   // nullopt: there is none yet
  std::string evaluation = {};  // its name, after one
};

// After an evaluation; the loss is its.
HookMoment MomentOf(const Evaluation& evaluation);

// A command is run by /bin/sh, in a process group of its own, with an empty standard input and its
// standard output on standard error. An interrupt ends those that are waited for, with SIGTERM and
// 5 seconds later SIGKILL. Of those that run beside, what still runs when this is destroyed goes on
// by itself.
class Hooks {
 public:
  using List = google::protobuf::RepeatedPtrField<proto::Hook>;

  // `hooks` is the field `name` of the configuration and outlives it; with run_hooks of the options
  // only, else nothing is run.
  Hooks(const List& hooks, const std::string& name, const EstimatorOptions& options);

  // Runs those of this moment, in order. Aborted when one that is required fails, also one that ran
  // beside until now; others are warned of.
  absl::Status Run(proto::Hook::At at, const HookMoment& moment);
  // Waits for those that run beside; errors as of Run.
  absl::Status Finish();

 private:
  struct Command {
    const proto::Hook* hook;
    std::string title;   // `training_hook[0] ("date")`
    int64_t calls = 0;   // moments of it so far
    pid_t running = -1;  // beside
  };

  absl::Status Start(Command& command, const HookMoment& moment);
  // What the end of a command means; `status` is waitpid's.
  absl::Status Ended(const Command& command, int status) const;
  // Blocks until it ends. Passes an interrupt on.
  absl::Status Wait(Command& command);
  // Looks whether one that runs beside has ended.
  absl::Status Look(Command& command);

  const std::string model_dir_;
  const std::atomic<int>* const interrupt_;
  std::vector<Command> commands_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_HOOKS_H_
