#include "cli/training.h"

#include <string>

#include "absl/strings/str_format.h"
#include "cli/logging.h"
#include "cli/signals.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string ProgressText(const TrainProgress& progress) {
  const double left = static_cast<double>(progress.final_step - progress.step);
  return absl::StrFormat("step %d/%d  loss %s  %.0f examples/s  ETA %.0f s", progress.step,
                         progress.final_step, ShortestText(static_cast<float>(progress.loss)),
                         progress.examples_per_second, left / progress.steps_per_second);
}

}  // namespace

void WatchTraining(ProgressLine& line, EstimatorOptions& options) {
  options.train.before_first_write = [] {
    InstallSignalHandlers(OnInterrupt::kFinishStep);
    LogWarningsOfProcess();
  };
  if (!line.shown()) return;
  options.train.progress = [&line](const TrainProgress& progress) {
    line.Draw(ProgressText(progress));
  };
}

}  // namespace tpurun
