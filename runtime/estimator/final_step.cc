#include "runtime/estimator/final_step.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

// From this number on a double cannot represent every number of steps.
constexpr double kMaxSteps = 9007199254740992.0;  // 2^53

// The largest whole number that is not above x, the result of two operations on a number that was
// rounded to double: 2.3 * 100 is 229.99999999999997, and 230 is meant.
double FloorOfRounded(double x) {
  const double nearest = std::round(x);
  const double error = 2 * std::numeric_limits<double>::epsilon() * x;
  return std::abs(nearest - x) <= error ? nearest : std::floor(x);
}

}  // namespace

absl::StatusOr<int64_t> FinalStep(const proto::RunConfig& config, int64_t start_step,
                                  int64_t examples_per_epoch) {
  const proto::Train& train = config.train();
  const int64_t batch = config.train_batch_size();
  if (train.has_steps()) {
    constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
    return train.steps() > kLast - start_step ? kLast : start_step + train.steps();
  }
  if (train.has_epochs()) {
    if (examples_per_epoch < 0) {
      return absl::InvalidArgumentError(
          "train.epochs needs an input whose examples can be counted; give max_steps or steps");
    }
    const double steps = FloorOfRounded(train.epochs() * static_cast<double>(examples_per_epoch) /
                                        static_cast<double>(batch));
    if (steps >= kMaxSteps) {
      return absl::InvalidArgumentError(absl::StrCat("train.epochs: ", train.epochs(),
                                                     " epochs are ", steps,
                                                     " steps, want fewer than ", kMaxSteps));
    }
    if (steps < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("train.epochs: ", train.epochs(), " epochs of ", examples_per_epoch,
                       " examples make no step of train_batch_size ", batch));
    }
    return static_cast<int64_t>(steps);
  }
  return train.max_steps();
}

}  // namespace tpurun
