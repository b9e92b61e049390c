// `tpurun check --config=FILE`: the step of a training as a Cloud TPU would compile and run it.
#ifndef TPURUN_CLI_CHECK_MODEL_H_
#define TPURUN_CLI_CHECK_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "cli/measure_input.h"
#include "runtime/estimator/estimator.h"
#include "runtime/tpu/accelerator.h"
#include "runtime/tpu/forecast.h"
#include "runtime/tpu/tpu_memory.h"
#include "runtime/tpu/tpu_program.h"

namespace tpurun {

// A training on a slice, and what is forecast of it.
struct CheckedStep {
  int64_t batch_of_core = 0;
  TpuAssumptions assumptions;
  TpuProgram program;
  TpuForecast forecast;
  TpuMemory memory;
};

struct ModelCheck {
  Accelerator accelerator;
  int64_t batch_size = 0;         // of all cores
  int batch_shares = 1;           // devices among which it is divided; 1 with BROADCAST
  std::optional<int64_t> steps;   // of the training, if it says so
  int64_t tokens_of_example = 0;  // of the longest sequence of ids that is a feature; 0: none is
  CheckedStep step;
  std::vector<TpuLayer> layers;
  // The largest multiple of 8 examples of a core that fits, or fewer than 8; 0: not even one.
  // Without a value: kMostExamplesOfCore fit, and the batch that was asked for.
  std::optional<int64_t> largest_batch_of_core;
  // With compute_dtype: BFLOAT16; without a value if the model has it.
  std::optional<CheckedStep> in_bf16;
  std::optional<InputRate> input;  // of this machine, with --measure_input
  // That the input of a host makes, with --host_examples_per_second.
  std::optional<double> host_examples_per_second;
  // The same batch of a core on other slices of the generation: cores, seconds of a step.
  std::vector<std::pair<int, double>> slices;

  // Whether a core has its share of the batch; with BROADCAST it has all of it.
  bool is_divided() const { return batch_shares > 1; }
  // That the input of a host makes for a step of such batches.
  int64_t examples_of_host(int64_t batch_of_core) const;
};

inline constexpr int64_t kMostExamplesOfCore = 65536;

// InvalidArgument lists every mistake of the configuration for the slice, Unimplemented what a TPU
// does not have.
absl::StatusOr<ModelCheck> CheckTraining(const CommandLine& command,
                                         const Accelerator& accelerator);

// Prints the check as --format says. ResourceExhausted if the step does not fit.
absl::Status CheckModel(const CommandLine& command);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_MODEL_H_
