#include "cli/training.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/logging.h"
#include "cli/signals.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string ProgressText(const TrainProgress& progress) {
  std::string text = absl::StrFormat("step %d/%d", progress.step, progress.final_step);
  if (progress.loss.has_value()) {
    absl::StrAppend(&text, "  loss ", ShortestText(static_cast<float>(*progress.loss)));
  }
  if (progress.steps_per_second <= 0) return text;  // before the first step
  const double left = static_cast<double>(progress.final_step - progress.step);
  const absl::Duration eta = absl::Seconds(std::ceil(left / progress.steps_per_second));
  absl::StrAppendFormat(&text, "  %.0f examples/s  ETA %s", progress.examples_per_second,
                        absl::FormatDuration(eta));
  return text;
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
