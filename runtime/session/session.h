// Session: a Device, the variables, and the program that is bound to them.
#ifndef TPURUN_RUNTIME_SESSION_SESSION_H_
#define TPURUN_RUNTIME_SESSION_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

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

  // Runs one loop of the program and blocks. Sets the queues and the version of the variables in
  // `args`. Besides args.heartbeat, a line of the log tells of the loop every minute. `outfeed` may
  // be nullptr.
  RunResult RunLoop(RunArgs args, Infeed& infeed, Outfeed* outfeed);

  // Device::TimeAlone of the program.
  absl::StatusOr<double> TimeAlone(int instruction);

  VariableStore& variables() { return variables_; }
  const VariableStore& variables() const { return variables_; }
  const CoreProgram& program() const { return program_; }
  int num_workers() const { return device_->num_workers(); }
  // What the bits of results depend on besides the program: "x86_64+avx2, oneDNN 2.6.3".
  std::string machine() const;
  // "worker 0 ran 1200 instruction parts, worker 1 ran 1180", for the log.
  std::string InstructionsRun() const;

 private:
  VariableStore variables_;  // must outlive the loaded program
  CoreProgram program_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<LoadedProgram> loaded_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_SESSION_H_
