#include "cli/measure_input.h"

#include <chrono>
#include <cstddef>
#include <ctime>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/estimator/setup.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/spec/input_deployment.h"

namespace tpurun {
namespace {

constexpr double kSecondsOfMeasurement = 2;

// Of all threads of the process.
double CpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

absl::StatusOr<InputRate> MeasureInput(const EstimatorOptions& options, const InputFn& input_fn) {
  const InputDeployment deployment = DeploymentOf(options, ModeKey::kTrain);
  ASSIGN_OR_RETURN(InputSource input, CallInputFn(input_fn, deployment,
                                                  {.mode = ModeKey::kTrain,
                                                   .features = options.features,
                                                   .seed = options.config.tf_random_seed()}));
  const MemoryUse use("a batch of the input", "lower train_batch_size");
  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::byte*> to;
  for (const FeatureSpec& feature : input.features) {
    buffers.emplace_back(feature.shape.bytes() * deployment.batch_size);
    to.push_back(buffers.back().data());
  }
  // The first batch waits for files to be opened and for shuffles to fill.
  ASSIGN_OR_RETURN(const int64_t first, input.batches->Next(to));
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const double cpu_begin = CpuSeconds();
  InputRate rate;
  double seconds = 0;
  while (first > 0 && seconds < kSecondsOfMeasurement) {
    if (options.interrupt != nullptr && *options.interrupt > 0)
      return absl::CancelledError("interrupted");
    ASSIGN_OR_RETURN(const int64_t got, input.batches->Next(to));
    if (got == 0) break;
    rate.examples += got;
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  if (rate.examples == 0) {
    return absl::DataLossError(
        absl::StrCat("--measure_input: train.input has less than two batches of ",
                     deployment.batch_size, " examples; repeat it, or lower train_batch_size"));
  }
  const double examples = static_cast<double>(rate.examples);
  rate.examples_per_second = examples / seconds;
  rate.cpu_seconds = (CpuSeconds() - cpu_begin) / examples;
  return rate;
}

}  // namespace tpurun
