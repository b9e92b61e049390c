#include "runtime/estimator/numerics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/step_graph.h"
#include "runtime/estimator/train_step.h"
#include "runtime/io/file.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/session/infeed.h"
#include "runtime/session/session.h"

namespace tpurun {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// The smallest normal number of bf16 and of f32.
constexpr float kSmallestNormal = 0x1p-126f;
// Half the distance of two numbers of bf16, relative to the larger one, at the least.
constexpr float kHalfStepOfBFloat16 = 0x1p-9f;

// The step of a model, compiled, with its variables.
struct StepProgram {
  explicit StepProgram(const EstimatorOptions& options)
      : session(options.num_workers, options.topology) {}

  absl::Status Load(const EstimatorOptions& options, bool keep_gradients) {
    ASSIGN_OR_RETURN(step,
                     BuildStepGraph(options, ModeKey::kTrain, {.keep_gradients = keep_gradients}));
    CompileOptions compile = MakeCompileOptions(options);
    compile.loss_output = kLossOutput;
    return session.Load(step.graph, compile);
  }

  Session session;
  StepGraph step;
};

// Copies the values of the variables that both have.
void CopyVariables(const VariableStore& from, VariableStore& to) {
  for (const auto& [name, theirs] : from.variables()) {
    StoredVariable* const own = to.FindMutable(name);
    if (own == nullptr) continue;
    for (int copy = 0; copy < own->copies(); ++copy)
      std::memcpy(own->copy(copy), theirs.copy(std::min(copy, theirs.copies() - 1)),
                  own->copy_bytes());
  }
}

// The first copy. Empty if the variable is missing or not f32.
std::span<const float> ValuesOf(const VariableStore& store, const std::string& name) {
  const StoredVariable* const stored = store.Find(name);
  if (stored == nullptr || stored->variable().shape.dtype != DType::kF32) return {};
  return {reinterpret_cast<const float*>(stored->copy(0)),
          static_cast<size_t>(stored->variable().shape.num_elements())};
}

// One training, step by step.
class SteppedTraining {
 public:
  SteppedTraining(EstimatorOptions options, int64_t steps)
      : options_(std::move(options)), steps_(steps), plain_(options_) {}

  absl::Status Begin(const InputFn& input_fn) {
    RETURN_IF_ERROR(plain_.Load(options_, false));
    RETURN_IF_ERROR(
        SetVariables(options_, std::nullopt, true, plain_.step.model_variables, plain_.session));
    ASSIGN_OR_RETURN(input_, CallInputFn(input_fn, DeploymentOf(options_, ModeKey::kTrain),
                                         {.mode = ModeKey::kTrain,
                                          .features = options_.features,
                                          .seed = options_.config.tf_random_seed()}));
    if (input_.reads_once) {
      return absl::InvalidArgumentError(absl::StrCat(
          options_.where("train.input"),
          ": train.input: got a pipe, which can be read only once, and each training reads it from "
          "its beginning; want files"));
    }
    ASSIGN_OR_RETURN(
        infeed_,
        CreateInfeed(options_, ModeKey::kTrain, "numerics", 1, input_, plain_.session.program(),
                     {.num_batches = steps_,
                      .ended_message =
                          [this](int64_t batches) {
                            return absl::StrCat("the training input ended after ", batches,
                                                " steps of ", steps_,
                                                "; repeat it, or lower --steps");
                          },
                      .classes = ClassesOf(plain_.step.graph)}));
    infeed_->Start();
    return absl::OkStatus();
  }

  // Runs the next step; with `keep`, by a program that keeps its gradients. Their bits are the
  // same.
  absl::StatusOr<RunResult> Run(bool keep) {
    if (!keep) return RunIn(plain_);
    RETURN_IF_ERROR(LoadKeeping());
    CopyVariables(plain_.session.variables(), keeping_->session.variables());
    return RunIn(*keeping_);
  }

  // After a step that has kept its gradients: goes on with its variables.
  void Accept() { CopyVariables(keeping_->session.variables(), plain_.session.variables()); }

  const StepGraph& step() const { return plain_.step; }
  bool input_ended() const { return infeed_->ended(); }
  // The variables before, and after, a step that has kept its gradients.
  const VariableStore& before() const { return plain_.session.variables(); }
  const VariableStore& after() const { return keeping_->session.variables(); }

 private:
  absl::Status LoadKeeping() {
    if (keeping_ != nullptr) return absl::OkStatus();
    EstimatorOptions options = options_;
    if (!options.dump_dir.empty()) options.dump_dir = JoinPath(options.dump_dir, "gradients");
    keeping_ = std::make_unique<StepProgram>(options);
    RETURN_IF_ERROR(keeping_->Load(options, true));
    const CoreProgram& one = plain_.session.program();
    const CoreProgram& other = keeping_->session.program();
    if (LayoutOf(one.infeed, one.num_replicas).offsets !=
        LayoutOf(other.infeed, other.num_replicas).offsets) {
      return absl::InternalError("the step that keeps its gradients reads another infeed");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RunResult> RunIn(StepProgram& program) {
    RunResult result = program.session.RunLoop(
        {.iterations = 1, .first_step = done_, .interrupt = options_.interrupt}, *infeed_, nullptr);
    if (result.interrupted) return absl::CancelledError("interrupted");
    done_ += result.steps;
    return result;
  }

  const EstimatorOptions options_;
  const int64_t steps_;
  StepProgram plain_;
  std::unique_ptr<StepProgram> keeping_;  // nullptr until its first step
  InputSource input_;
  InfeedPtr infeed_;
  int64_t done_ = 0;
};

double MeanOf(const std::vector<float>& losses) {
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  return losses.empty() ? kNaN : sum / static_cast<double>(losses.size());
}

// ReLU's zeros and rows of a table that no id of the batch names are zeros of both gradients.
GradientNumbers NumbersOf(const std::string& variable, int64_t step,
                          const SteppedTraining& training) {
  const std::span<const float> gradient = ValuesOf(training.after(), KeptGradientName(variable));
  const std::span<const float> nonzero = ValuesOf(training.after(), KeptNonzeroName(variable));
  const std::span<const float> before = ValuesOf(training.before(), variable);
  const std::span<const float> after = ValuesOf(training.after(), variable);
  GradientNumbers numbers{.step = step, .elements = static_cast<int64_t>(gradient.size())};
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float magnitude = std::fabs(gradient[i]);
    if (magnitude < kSmallestNormal) {
      ++numbers.zeros;
      numbers.flushed += nonzero[i] > 0;
    } else if (std::isfinite(magnitude)) {
      const int exponent = std::ilogb(magnitude);
      numbers.smallest = std::min(numbers.smallest.value_or(exponent), exponent);
      numbers.largest = std::max(numbers.largest.value_or(exponent), exponent);
    }
  }
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (after[i] == before[i]) continue;
    ++numbers.updated;
    numbers.update_lost +=
        std::fabs(after[i] - before[i]) < kHalfStepOfBFloat16 * std::fabs(before[i]);
  }
  return numbers;
}

// The 2-norm of x - y, which have the same size; of x if y is empty.
double Norm(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - (y.empty() ? 0 : y[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

std::vector<VariableNumerics> VariablesOf(const StepGraph& step) {
  const std::set<int> trained(step.trained.begin(), step.trained.end());
  std::vector<VariableNumerics> variables;
  for (const int index : trained) {
    const std::string& name = step.model_variables[index].name;
    VariableNumerics& variable = variables.emplace_back();
    variable.name = name;
    for (const BuiltLayer& layer : step.layers) {
      if (layer.depth > 0 || index < layer.first_variable || index >= layer.end_variable) continue;
      variable.layer = layer.name;
    }
  }
  return variables;
}

class Comparison {
 public:
  Comparison(const EstimatorOptions& options, const InputFn& input_fn, const NumericsArgs& args)
      : options_(options), input_fn_(input_fn), args_(args) {
    numerics_.steps = args.steps;
  }

  absl::StatusOr<Numerics> Run() {
    for (const ComparedTraining& training : args_.trainings) RETURN_IF_ERROR(Train(training));
    return std::move(numerics_);
  }

 private:
  bool is_reference() const { return numerics_.trainings.size() == 1; }

  EstimatorOptions OptionsOf(const ComparedTraining& training) const {
    EstimatorOptions options = options_;
    options.model_fn = training.model_fn;
    options.config.set_tf_random_seed(options.config.tf_random_seed() + training.seed_offset);
    options.config.mutable_tpu_config()->clear_initial_infeed_sleep_secs();
    options.dump_infeed.clear();
    if (!options.dump_dir.empty()) options.dump_dir = JoinPath(options.dump_dir, training.name);
    return options;
  }

  // Of the reference the first, the middle and the last step, of the others the first.
  bool Keeps(const ComparedTraining& training, int64_t step) const {
    if (training.seed_offset != 0) return false;
    if (!is_reference()) return step == 1;
    return step == 1 || step == numerics_.steps || step == (numerics_.steps + 1) / 2;
  }

  absl::Status Train(const ComparedTraining& training) {
    const int64_t last = training.only_gradients ? 1 : numerics_.steps;
    LOG(INFO) << "Training " << last << (last == 1 ? " step: " : " steps: ") << training.name
              << ".";
    TrainingLosses& trained = numerics_.trainings.emplace_back();
    trained.name = training.name;
    SteppedTraining steps(OptionsOf(training), numerics_.steps);
    RETURN_IF_ERROR(steps.Begin(input_fn_));
    if (is_reference()) {
      numerics_.variables = VariablesOf(steps.step());
      RETURN_IF_ERROR(options_.after_checks());
    }
    for (int64_t step = 1; step <= last; ++step) {
      const bool keep = Keeps(training, step);
      ASSIGN_OR_RETURN(const RunResult result, steps.Run(keep));
      if (result.loss_not_finite || result.not_finite.has_value()) {
        trained.not_finite =
            absl::StrCat(result.loss_not_finite ? "loss" : "weights", " at step ", step);
        if (!result.loss_not_finite) trained.losses.push_back(MeanOf(result.loss));
        break;
      }
      const bool may_end = args_.may_end_early && is_reference() && step > 1;
      if (may_end && absl::IsOutOfRange(result.status) && steps.input_ended()) {
        LOG(INFO) << "The training input ended after " << step - 1 << " steps.";
        numerics_ = {.steps = step - 1};
        return Train(training);  // again, for other steps are the middle and the last one
      }
      RETURN_IF_ERROR(Annotate(result.status, absl::StrCat("step ", step)));
      trained.losses.push_back(MeanOf(result.loss));
      if (!keep) continue;
      TakeGradients(training, step, steps);
      steps.Accept();
    }
    trained.losses.resize(numerics_.steps, kNaN);
    return absl::OkStatus();
  }

  void TakeGradients(const ComparedTraining& training, int64_t step, const SteppedTraining& steps) {
    if (is_reference()) return TakeReference(step, steps);
    for (VariableNumerics& variable : numerics_.variables) {
      const auto reference = reference_.find(variable.name);
      if (reference == reference_.end()) continue;  // it did not get through step 1
      variable.differences[training.name] =
          Norm(ValuesOf(steps.after(), KeptGradientName(variable.name)), reference->second);
    }
  }

  void TakeReference(int64_t step, const SteppedTraining& steps) {
    if (step == 1) {
      // The loss may depend on some of an optimizer's variables only.
      std::erase_if(numerics_.variables, [&](const VariableNumerics& variable) {
        return steps.after().Find(KeptGradientName(variable.name)) == nullptr;
      });
    }
    for (VariableNumerics& variable : numerics_.variables) {
      variable.steps.push_back(NumbersOf(variable.name, step, steps));
      if (step > 1) continue;
      const std::span<const float> gradient =
          ValuesOf(steps.after(), KeptGradientName(variable.name));
      reference_[variable.name].assign(gradient.begin(), gradient.end());
      variable.norm = Norm(gradient, {});
    }
  }

  const EstimatorOptions& options_;
  const InputFn& input_fn_;
  const NumericsArgs& args_;
  std::map<std::string, std::vector<float>> reference_;  // by variable, the gradient of step 1
  Numerics numerics_;
};

}  // namespace

absl::StatusOr<Numerics> CompareNumerics(const EstimatorOptions& options, const InputFn& input_fn,
                                         const NumericsArgs& args) {
  return Comparison(options, input_fn, args).Run();
}

int64_t LastTenth(int64_t steps) { return (steps + 9) / 10; }

double MeanOfLastTenth(const std::vector<double>& losses) {
  const int64_t count = LastTenth(static_cast<int64_t>(losses.size()));
  return count == 0 ? kNaN
                    : std::accumulate(losses.end() - count, losses.end(), 0.0) /
                          static_cast<double>(count);
}

double RelativeDifference(double x, double reference) {
  return x == reference ? 0 : std::fabs(x - reference) / std::fabs(reference);
}

}  // namespace tpurun
