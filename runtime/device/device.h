// Device: 8 emulated cores run by worker threads. A program is loaded once (kernels made, arenas
// touched) and run for any number of steps. Results have the same bits for any number of workers.
#ifndef TPURUN_RUNTIME_DEVICE_DEVICE_H_
#define TPURUN_RUNTIME_DEVICE_DEVICE_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/loaded_program.h"
#include "runtime/device/queues.h"
#include "runtime/device/run_profile.h"
#include "runtime/fabric/fabric.h"
#include "runtime/program/core_program.h"

namespace tpurun {

struct RunArgs {
  int64_t iterations = 1;
  // The loop index of the first step: the steps before it are those of other runs of the loop.
  int64_t first_index = 0;
  // The number of the step with loop index 0, to which the periods of periodic sections refer.
  int64_t first_step = 0;
  // Periodic sections run only at loop indices that are multiples of this number
  // (experimental_host_call_every_n_steps).
  int64_t host_call_every_n_steps = 1;
  // Incremented when anything else than this program writes its variables: the prologue runs again.
  int64_t variables_version = 0;
  // The processes that run the other replicas. They call Run with the same iterations and steps.
  // nullptr: this process runs all replicas.
  Fabric* fabric = nullptr;
  // Receives what the workers do. nullptr: nothing is recorded, at no cost.
  RunProfile* profile = nullptr;
  // Entries of LayoutOf(program.infeed); nullptr if the program has no infeed slot.
  EntryRing* infeed = nullptr;
  // Entries of OutfeedEntryBytes; nullptr if the program has no outfeed slot.
  EntryRing* outfeed = nullptr;
  // A non-zero value stops the run after the current step. May be nullptr.
  const std::atomic<int>* interrupt = nullptr;
  // Called on the thread of Run after every heartbeat_period, with the number of steps completed so
  // far. May be null.
  std::function<void(int64_t steps)> heartbeat;
  std::chrono::milliseconds heartbeat_period = std::chrono::minutes(1);
};

// An outfeed entry: the loop index as s64 in its first 64 bytes, then LayoutOf(program.outfeed).
constexpr int64_t kOutfeedHeaderBytes = 64;
int64_t OutfeedEntryBytes(const CoreProgram& program);

struct RunResult {
  int64_t steps = 0;  // completed steps: iterations, or fewer after an interrupt or an error
  bool interrupted = false;
  double periodic_seconds = 0;  // time spent in periodic sections, with exchanges beside them
  // [replica], of all processes: of the last completed step (empty without a loss).
  std::vector<float> loss;
  // OK, or the first error of a kernel, of the infeed (OutOfRange: it has ended) or of the outfeed.
  // With a fabric all processes have the same errors of an infeed and an outfeed, and stop before
  // the same step; a process that is gone is Unavailable.
  absl::Status status;
  // The run has stopped between two steps: the variables are those of the last completed step.
  bool between_steps = false;
  // The loss of a core was NaN or infinite in the step after `steps` completed steps. That step has
  // not updated its variables, and its batch is still the front entry of the infeed. `status` is
  // then Aborted.
  bool loss_not_finite = false;
  int bad_replica = 0;  // the first such core, among all replicas of the run
  // Step `steps`, the last completed step, has written a NaN or an infinity into this variable.
  // `status` is then Aborted.
  std::optional<NotFinite> not_finite;
};

// Runs loaded programs on worker threads.
class Device {
 public:
  // Starts `num_workers` threads; 0: one for each CPU that this process may use. If there are as
  // many threads as CPUs, each is pinned to one CPU. The destructor ends the threads.
  static std::unique_ptr<Device> Create(int num_workers);
  virtual ~Device() = default;

  virtual int num_workers() const = 0;
  // `variables[i]` is the memory of program.variables[i]. For a per-core variable it holds
  // num_replicas consecutive copies, each padded to a multiple of 64 bytes. The memory must outlive
  // the loaded program. `alone`: FitToOneWorker of the same compiled program. Its step then takes
  // the place of that of `program` where that is faster (step_sharing.h), without a fabric or a
  // profile. `in_turn`: a program of the same variables whose memory for intermediate values this
  // one takes, too. A run of one of them that follows a run of the other needs another
  // variables_version.
  virtual absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(
      const CoreProgram& program, const std::vector<void*>& variables,
      const CoreProgram* alone = nullptr, const LoadedProgram* in_turn = nullptr) = 0;
  // Blocks until the steps are done. Only one Run at a time.
  virtual RunResult Run(LoadedProgram& program, const RunArgs& args) = 0;

  // Runs the first call of an instruction (an index in CoreProgram::Instructions()) on the calling
  // thread, again and again, while no other worker runs, and returns the seconds of the fastest.
  // The memory is that of the last Run, whose infeed entry must still exist. The instruction must
  // not write a variable.
  virtual absl::StatusOr<double> TimeAlone(LoadedProgram& program, int instruction) = 0;

  // The number of calls that each worker has run so far.
  virtual std::vector<int64_t> InstructionsRun() const = 0;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_DEVICE_H_
