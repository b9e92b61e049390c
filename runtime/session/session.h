// Session: a Device, the variables, and the programs that are bound to them: one, or one for each
// bucket of a training's batches (SequenceBuckets).
#ifndef TPURUN_RUNTIME_SESSION_SESSION_H_
#define TPURUN_RUNTIME_SESSION_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/compiler/compile.h"
#include "runtime/device/device.h"
#include "runtime/session/infeed.h"
#include "runtime/session/outfeed.h"
#include "runtime/spec/topology.h"

namespace tpurun {

class Session {
 public:
  // `num_workers` 0: one worker for each CPU that this process may use.
  Session(int num_workers, const Topology& topology);
  ~Session();

  // Compiles the graph, adds its variables (zero) to the store, binds and loads the program.
  absl::Status Load(const Graph& graph, const CompileOptions& options);
  // After Load, for each bucket but the last, ascending: loads the program for its batches. That of
  // Load is for the last bucket. Internal unless it has the same variables and features,
  // InvalidArgument unless it has outputs of the same shapes.
  absl::Status LoadForBucket(const Graph& graph, const CompileOptions& options);

  // Runs one loop and blocks: each step is that of the program for its batch. Sets the queues and
  // the version of the variables in `args`. Besides args.heartbeat, a line of the log tells of the
  // loop every minute. `outfeed` may be nullptr. With several programs there is no profile and no
  // fabric.
  RunResult RunLoop(RunArgs args, Infeed& infeed, Outfeed* outfeed);

  // Device::TimeAlone of the program.
  absl::StatusOr<double> TimeAlone(int instruction);

  VariableStore& variables() { return variables_; }
  const VariableStore& variables() const { return variables_; }
  // The program that Load has loaded.
  const CoreProgram& program() const { return program_.core; }
  // The program for batches of a bucket.
  const CoreProgram& ProgramOf(int bucket) const { return Of(bucket).core; }
  int num_programs() const { return static_cast<int>(of_buckets_.size()) + 1; }
  int num_workers() const { return device_->num_workers(); }
  // What the bits of results depend on besides the program: "x86_64+avx2, oneDNN 2.6.3".
  std::string machine() const;
  // "worker 0 ran 1200 instruction parts, worker 1 ran 1180", for the log.
  std::string InstructionsRun() const;

 private:
  struct Program {
    CoreProgram core;
    std::unique_ptr<LoadedProgram> loaded;
  };

  // `in_turn`: the program that it takes turns with, like which it must be; nullptr: none.
  absl::StatusOr<Program> LoadProgram(const Graph& graph, const CompileOptions& options,
                                      const Program* in_turn);
  const Program& Of(int bucket) const {
    return bucket < std::ssize(of_buckets_) ? of_buckets_[bucket] : program_;
  }
  // RunLoop with several programs.
  RunResult RunInTurn(RunArgs args);

  VariableStore variables_;  // must outlive the loaded programs
  std::unique_ptr<Device> device_;
  Program program_;
  std::vector<Program> of_buckets_;  // shorter ones
  const Program* last_run_ = nullptr;
  int64_t switches_ = 0;  // from one program to another
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_SESSION_H_
