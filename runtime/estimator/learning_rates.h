// Computes the learning rates of a step on the host with the reference kernels.
#ifndef TPURUN_RUNTIME_ESTIMATOR_LEARNING_RATES_H_
#define TPURUN_RUNTIME_ESTIMATOR_LEARNING_RATES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"
#include "runtime/spec/spec.h"

namespace tpurun {

class LearningRates {
 public:
  LearningRates() = default;
  static absl::StatusOr<LearningRates> Create(const std::vector<OptimizerSpec>& optimizers);

  // Tag (LearningRateTag) and learning rate of each optimizer, in order, for the step that begins
  // at `global_step` (0 for the first step).
  absl::StatusOr<std::vector<std::pair<std::string, float>>> At(int64_t global_step) const;

 private:
  Graph graph_;  // from the variable global_step to one output per optimizer
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_LEARNING_RATES_H_
