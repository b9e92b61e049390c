// Device: 8 emulated cores run by worker threads. A program is loaded once (kernels made, arenas
// touched) and run for any number of steps; the same bits come out whatever the number of workers.
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
#include "runtime/program/core_program.h"

namespace tpurun {

struct RunArgs {
  int64_t iterations = 1;
  // The number of the first step, by which periodic sections go.
  int64_t first_step = 0;
  // Guarded ranges run at loop indices that it divides (experimental_host_call_every_n_steps).
  int64_t guarded_every = 1;
  // Bumped whenever anything but this program writes its variables: the prologue runs again.
  int64_t variables_version = 0;
  EntryRing* infeed = nullptr;   // entries of LayoutOf(program.infeed); null when there is no slot
  EntryRing* outfeed = nullptr;  // entries of OutfeedEntryBytes; null when there is no slot
  // Non-zero: stop after the step that is running. May be null.
  const std::atomic<int>* interrupt = nullptr;
  // Called on the thread of Run, each time that the run has lasted another such period, with the
  // steps completed so far. May be null.
  std::function<void(int64_t steps)> heartbeat;
  std::chrono::milliseconds heartbeat_period = std::chrono::minutes(1);
};

// An outfeed entry: s64 loop index in its first 64 bytes, then LayoutOf(program.outfeed).
constexpr int64_t kOutfeedHeaderBytes = 64;
int64_t OutfeedEntryBytes(const CoreProgram& program);

struct RunResult {
  int64_t steps = 0;  // completed: iterations, or fewer after an interrupt or an error
  bool interrupted = false;
  double periodic_seconds = 0;  // in periodic sections
  std::vector<float> loss;      // each replica's, of the last completed step (empty without a loss)
  // The first error: of a kernel, of the infeed (OutOfRange: it ended) or of the outfeed; OK
  // otherwise.
  absl::Status status;
  // A loss was NaN or infinite at the step after `steps`. Its variables are not updated and its
  // batch is still the infeed's front entry. `status` says so (Aborted).
  bool loss_not_finite = false;
  // Step `steps`, the last that was done, has written a NaN or an infinity into this variable.
  // `status` says so (Aborted).
  std::optional<NotFinite> not_finite;
};

class Device {
 public:
  // `num_workers` threads; 0: one for each CPU that this process may use. They are pinned one to a
  // CPU when there are as many as CPUs.
  explicit Device(int num_workers);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int num_workers() const;
  // `variables[i]` is the memory of program.variables[i], num_replicas copies one after the other
  // (each padded to 64 bytes) for a per-core one; it must outlive the loaded program.
  absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(const CoreProgram& program,
                                                      const std::vector<void*>& variables);
  // Blocks until the steps are done. One Run at a time.
  RunResult Run(LoadedProgram& program, const RunArgs& args);

  // How many instruction parts each worker has run so far.
  std::vector<int64_t> InstructionsRun() const;

 private:
  class Workers;
  std::unique_ptr<Workers> workers_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_DEVICE_H_
