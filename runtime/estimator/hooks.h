// Hooks: the shell commands of a configuration that run at certain moments of a training or an
// evaluation.
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

// The values in the environment of a command, as TPURUN_STEP and so on.
struct HookMoment {
  int64_t step = 0;
  std::string checkpoint;       // prefix of the latest checkpoint; may be empty
  std::optional<double> loss;   // nullopt if there is none yet
  std::string evaluation = {};  // name of the evaluation, after an evaluation
};

// The moment after an evaluation, with the loss of the evaluation.
HookMoment MomentOf(const Evaluation& evaluation);

// /bin/sh runs each command in its own process group, with an empty standard input and with its
// standard output on standard error. An interrupt ends commands that are waited for, with SIGTERM
// and 5 seconds later SIGKILL. A command that runs in the background continues by itself if the
// object is destroyed.
class Hooks {
 public:
  using List = google::protobuf::RepeatedPtrField<proto::Hook>;

  // `hooks` is the field `name` of the configuration and must outlive the object. Without
  // options.run_hooks nothing is run.
  Hooks(const List& hooks, const std::string& name, const EstimatorOptions& options);

  // Runs the commands of this moment, in order. Aborted if a required command fails, also one that
  // has run in the background until now. Failures of other commands are warnings.
  absl::Status Run(proto::Hook::At at, const HookMoment& moment);
  // Waits for the commands in the background. Errors as in Run.
  absl::Status Finish();

 private:
  struct Command {
    const proto::Hook* hook;
    std::string title;   // `training_hook[0] ("date")`
    int64_t calls = 0;   // moments of this command so far
    pid_t running = -1;  // process id while it runs, else -1
  };

  absl::Status Start(Command& command, const HookMoment& moment);
  // The status for the end of a command. `status` is the result of waitpid.
  absl::Status Ended(const Command& command, int status) const;
  // Blocks until the command ends. Passes an interrupt on to it.
  absl::Status Wait(Command& command);
  // Checks whether a command in the background has ended.
  absl::Status Look(Command& command);

  const std::string model_dir_;
  const std::atomic<int>* const interrupt_;
  std::vector<Command> commands_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_HOOKS_H_
