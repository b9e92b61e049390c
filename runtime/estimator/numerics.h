// What the precision of products does to a training: the same steps with several precisions, side
// by side, and the gradients of each variable. For `check --numerics`. Writes no files.
#ifndef TPURUN_RUNTIME_ESTIMATOR_NUMERICS_H_
#define TPURUN_RUNTIME_ESTIMATOR_NUMERICS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// One of the trainings that are compared.
struct ComparedTraining {
  std::string name;  // "DEFAULT"
  // The models have the same features and the same variables.
  ModelFn model_fn;
  // Added to tf_random_seed. The gradients of a training with another seed are not compared.
  int64_t seed_offset = 0;
  // Only step 1 is run, for its gradients; later losses are NaN.
  bool only_gradients = false;
};

struct NumericsArgs {
  int64_t steps = 100;
  // An input that ends before: the trainings end there. If false, that is an error.
  bool may_end_early = false;
  // The first one is the reference.
  std::vector<ComparedTraining> trainings;
};

// The gradient of a variable in one step of the reference, as the optimizer gets it. If groups of
// replicas have gradients of their own, those of the first group.
struct GradientNumbers {
  int64_t step = 0;  // from 1
  int64_t elements = 0;
  int64_t zeros = 0;  // elements that are 0
  // Zeros that were flushed: the gradient of the loss times 2^64 is not 0 there.
  int64_t flushed = 0;
  // The exponents of the smallest and the largest element that is not 0: 2^e <= |x| < 2^(e + 1).
  // nullopt: all are 0.
  std::optional<int> smallest, largest;
  int64_t updated = 0;  // elements of the variable that the step changes
  // Of these, the ones that the step changes by less than 2^-9 of their magnitude: a variable in
  // bf16 would keep its value.
  int64_t update_lost = 0;
};

struct VariableNumerics {
  std::string name;
  std::string layer;  // the outermost layer that has it; empty if none has
  double norm = 0;    // 2-norm of the reference's gradient in step 1
  // By name of training: the 2-norm of the difference from it, of the same weights and the same
  // batch. Not of a training with another seed, nor of one that did not get through step 1.
  std::map<std::string, double> differences;
  std::vector<GradientNumbers> steps;  // the first, the middle and the last
};

struct TrainingLosses {
  std::string name;
  // The mean over the cores for each step. NaN from the step on that was not finite.
  std::vector<double> losses;
  std::string not_finite;  // why: "loss at step 3"; empty: all steps were finite
};

struct Numerics {
  int64_t steps = 0;
  std::vector<TrainingLosses> trainings;    // in the order of NumericsArgs
  std::vector<VariableNumerics> variables;  // those that optimizers update, in the model's order
};

// Trains each from its initial values. A NaN ends one training only. `options.model_fn` is not
// used. InvalidArgument if the input is a pipe, which can be read only once. OutOfRange if it ends
// before the steps. Cancelled after an interrupt.
absl::StatusOr<Numerics> CompareNumerics(const EstimatorOptions& options, const InputFn& input_fn,
                                         const NumericsArgs& args);

// The number of steps in the last tenth, rounded up.
int64_t LastTenth(int64_t steps);
// The mean over the last tenth of the steps. NaN if one of them is, or if there is none.
double MeanOfLastTenth(const std::vector<double>& losses);
// |x - reference| / |reference|, and 0 for equal numbers.
double RelativeDifference(double x, double reference);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_NUMERICS_H_
