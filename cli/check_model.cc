#include "cli/check_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/check_input.h"
#include "cli/check_text.h"
#include "cli/compose.h"
#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "cli/forecast_trace.h"
#include "cli/json.h"
#include "cli/logging.h"
#include "cli/trace_file.h"
#include "data/input_fn.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/sequence_lengths.h"
#include "runtime/estimator/setup.h"
#include "runtime/estimator/step_graph.h"
#include "runtime/io/file.h"
#include "runtime/tpu/tpu_program_text.h"

namespace tpurun {
namespace {

// A larger slice has a graph of so many replicas: the program of a device is the same.
constexpr int kMostReplicasOfGraph = kMostReplicas;

struct Training {
  EstimatorOptions options;
  int64_t batch_size = 0;        // of all devices of the slice
  std::optional<int64_t> steps;  // of the training
  InputFn input_fn;              // nullptr without an input
};

int64_t TokensOfExample(const std::vector<FeatureSpec>& features) {
  int64_t tokens = 0;
  for (const FeatureSpec& feature : features) {
    const Shape& shape = feature.shape;
    const bool are_ids = shape.dtype == DType::kS32 || shape.dtype == DType::kS64;
    if (!feature.is_label && are_ids && shape.rank() == 1)
      tokens = std::max(tokens, shape.num_elements());
  }
  return tokens;
}

// Every device has the whole batch.
bool IsBroadcast(const proto::RunConfig& run) {
  return run.tpu_config().per_host_input_for_training() == proto::TPUConfig::BROADCAST;
}

// Makes the configuration one for a graph of the slice. What only a run needs may be missing.
void SetForSlice(const Accelerator& accelerator, proto::RunConfig& run, ConfigErrors& errors) {
  const int devices = accelerator.devices();
  const int replicas = std::clamp(devices, kReplicasOfHost, kMostReplicasOfGraph);
  run.set_use_tpu(true);
  run.mutable_tpu_config()->set_num_shards(replicas);
  if (run.model_dir().empty()) run.set_model_dir("check");
  if (run.train().length_case() == proto::Train::LENGTH_NOT_SET)
    run.mutable_train()->set_max_steps(1);
  const int64_t batch_size = run.train_batch_size();
  if (batch_size <= 0 || replicas == devices || IsBroadcast(run)) return;
  const int64_t below = batch_size / devices * devices;
  if (batch_size != below) {
    // TPUEstimator's words for E4.
    errors.Add(
        "train_batch_size",
        absl::StrCat("train batch size ", batch_size, " must be divisible by number of replicas ",
                     devices, ", those of ", accelerator.name(), ": ",
                     below > 0 ? absl::StrCat(below, " or ") : std::string(), below + devices));
  }
  run.set_train_batch_size(std::max<int64_t>(batch_size / devices, 1) * replicas);
}

// E6 and E8 as far as TPUEstimator does not refuse them: of INT64 features and labels.
std::vector<std::string> WarningsOfTypes(const LoadedConfig& config) {
  std::vector<std::string> warnings;
  const auto add = [&](const char* kind, const auto& tensors) {
    for (int i = 0; i < tensors.size(); ++i) {
      if (tensors[i].dtype() != proto::INT64) continue;
      const std::string path = ElementPath(absl::StrCat("model.", kind), i);
      warnings.push_back(absl::StrCat(
          config.locations.Where(path), ": ", kind, " ", Quote(tensors[i].name()),
          " is INT64: a TPU computes it as pairs of 32 bits, and only some ops take it; cast it to "
          "INT32 in the input (help tpu_errors: E6, E8)"));
    }
  };
  add("feature", config.model.feature());
  add("label", config.model.label());
  return warnings;
}

// E4 of what is not the training: the slice would refuse its batches.
void WarnOfBatches(const LoadedConfig& config, const Accelerator& accelerator,
                   std::vector<std::string>& warnings) {
  const proto::RunConfig& run = config.run;
  const auto check = [&](const char* field, const char* verb, bool given, int64_t batch_size) {
    const int64_t devices = accelerator.devices();
    if (!given || batch_size % devices == 0 || IsBroadcast(run)) return;
    warnings.push_back(absl::StrCat(config.locations.Where(field), ": ", field, ": ", batch_size,
                                    " is not divisible by the ", devices, " replicas of ",
                                    accelerator.name(), ", which would refuse to ", verb,
                                    " with it (help tpu_errors: E4)"));
  };
  check("eval_batch_size", "evaluate",
        run.has_eval_batch_size() && run.evaluate_size() > 0 && run.eval_on_tpu(),
        run.eval_batch_size());
  check("predict_batch_size", "predict", run.has_predict_batch_size() && run.predict().has_input(),
        run.predict_batch_size());
}

absl::StatusOr<Training> LoadTraining(const CommandLine& command, const Accelerator& accelerator) {
  ASSIGN_OR_RETURN(LoadOptions load, command.load_options());
  load.tf_config.clear();
  ConfigErrors errors;
  ASSIGN_OR_RETURN(LoadedConfig config, LoadConfig(load, errors));
  Training training;
  proto::RunConfig& run = config.run;
  training.batch_size = run.train_batch_size();
  if (run.train().max_steps() > 0) training.steps = run.train().max_steps();
  if (run.train().steps() > 0) training.steps = run.train().steps();
  std::vector<std::string> warnings = WarningsOfTypes(config);
  if (const int shards = run.tpu_config().num_shards(); shards > 0 && shards != accelerator.cores) {
    warnings.push_back(absl::StrCat(config.locations.Where("tpu_config.num_shards"),
                                    ": tpu_config.num_shards: ", shards, " is not used, ",
                                    accelerator.name(), " has ", accelerator.cores, " cores"));
  }
  WarnOfBatches(config, accelerator, warnings);
  SetForSlice(accelerator, run, errors);
  const int processes = std::max(1, run.tpu_config().num_shards() / kMaxLocalReplicas);
  ValidateConfig(
      config,
      {.train = true, .train_input = command.GetBool("measure_input"), .num_processes = processes},
      errors);
  ParsedModel model = ParseModel(config.model, config.locations, errors, TargetOf(run));
  std::optional<SequenceBuckets> buckets;
  if (run.train().has_input()) {
    const ModeInput input{ModeKey::kTrain, "train.input", &run.train().input()};
    const std::shared_ptr<const InputPlan> plan = ParseInput(
        *input.input, run.transformation_func(), config.locations, input.path, "", errors);
    if (plan != nullptr) {
      CheckModeInput(config, model.features, input, *plan, errors);
      training.input_fn = MakeInputFn(plan);
      buckets = SequenceBucketsOf(*plan);
    }
  }
  RETURN_IF_ERROR(ErrorList(errors.Lines(config.locations), errors.code()));
  LogWarnings(errors.Warnings(config.locations));
  LogWarnings(warnings);
  ASSIGN_OR_RETURN(training.options,
                   MakeOptions(command, config, {.train = true}, std::move(model)));
  training.options.train.buckets = std::move(buckets);
  return training;
}

bool ComputesInBFloat16(const EstimatorOptions& options) {
  return options.config.model().compute_dtype() == proto::BFLOAT16;
}

// Of `check` the slice and the hosts are known.
absl::StatusOr<CheckedStep> CheckStep(EstimatorOptions options, const ModelCheck& check,
                                      int64_t batch_of_core, bool bf16_activations) {
  options.config.set_train_batch_size(batch_of_core *
                                      DeploymentOf(options, ModeKey::kTrain).counted_replicas());
  ASSIGN_OR_RETURN(const StepGraph step,
                   BuildStepGraph(options, ModeKey::kTrain, {.dense_gradients = true}));
  CheckedStep checked{.batch_of_core = batch_of_core};
  if (check.host_examples_per_second.has_value()) {
    checked.assumptions.input_seconds = static_cast<double>(check.examples_of_host(batch_of_core)) /
                                        *check.host_examples_per_second;
  }
  ASSIGN_OR_RETURN(checked.program,
                   MakeTpuProgram(step.graph, {.bf16_activations = bf16_activations}));
  checked.forecast = ForecastStep(checked.program, check.accelerator, checked.assumptions);
  checked.memory = MemoryOf(checked.program);
  return checked;
}

// Without a value if the most that is tried fits. Memory grows about linearly with the batch, so
// few sizes are tried.
absl::StatusOr<std::optional<int64_t>> LargestBatch(const EstimatorOptions& options,
                                                    const ModelCheck& check) {
  const CheckedStep& step = check.step;
  const int64_t capacity = check.accelerator.generation->hbm_bytes;
  // Bytes used by a batch of a device. Without examples a step takes no less than its variables.
  std::map<int64_t, int64_t> used = {{0, kReservedHbm + step.memory.arguments.padded},
                                     {step.batch_of_core, step.memory.used()}};
  if (used[0] > capacity) return 0;
  const int64_t most_tried = std::max(kMostExamplesOfCore, step.batch_of_core);
  int64_t fitting = 0, too_many = most_tried + 1;  // all that is known
  const auto learn = [&](int64_t batch) { (used[batch] <= capacity ? fitting : too_many) = batch; };
  learn(step.batch_of_core);
  for (int tried = 1; fitting < most_tried; ++tried) {
    const int64_t unit = too_many > 8 ? 8 : 1;
    const int64_t least = fitting / unit * unit + unit, most = (too_many - 1) / unit * unit;
    if (least > most) break;
    // Where the line through the nearest two sizes reaches the capacity; now and then the middle.
    auto above = used.upper_bound(fitting);
    if (above == used.end()) above = std::prev(used.end());
    const auto below = std::prev(above);
    const double slope = static_cast<double>(above->second - below->second) /
                         static_cast<double>(above->first - below->first);
    double guess = static_cast<double>(below->first) +
                   static_cast<double>(capacity - below->second) / std::max(slope, 1.0);
    if (tried % 3 == 0) guess = static_cast<double>(least + most) / 2;
    guess = std::clamp(guess, static_cast<double>(least), static_cast<double>(most));
    const int64_t batch = std::max(static_cast<int64_t>(guess) / unit * unit, least);
    ASSIGN_OR_RETURN(const CheckedStep other,
                     CheckStep(options, check, batch, ComputesInBFloat16(options)));
    used[batch] = other.memory.used();
    learn(batch);
  }
  if (fitting >= most_tried) return std::nullopt;
  return fitting;
}

std::vector<std::pair<int, double>> OtherSlices(const CheckedStep& step,
                                                const Accelerator& accelerator) {
  std::vector<std::pair<int, double>> slices;
  for (int cores = 8; cores <= accelerator.generation->most_cores; cores *= 4) {
    const Accelerator other{.generation = accelerator.generation, .cores = cores};
    slices.emplace_back(cores, ForecastStep(step.program, other, step.assumptions).step);
  }
  return slices;
}

absl::StatusOr<std::optional<double>> HostRate(const CommandLine& command) {
  if (!command.Has("host_examples_per_second")) return std::nullopt;
  const double rate = command.GetDouble("host_examples_per_second");
  if (rate > 0) return rate;
  return absl::InvalidArgumentError(
      absl::StrCat("--host_examples_per_second: got ", rate, ", want more than 0"));
}

}  // namespace

int64_t ModelCheck::examples_of_host(int64_t batch_of_core) const {
  // With BROADCAST one host makes the batch that every core has.
  return is_divided() ? batch_of_core * accelerator.devices_of_host() : batch_of_core;
}

absl::StatusOr<ModelCheck> CheckTraining(const CommandLine& command,
                                         const Accelerator& accelerator) {
  ASSIGN_OR_RETURN(const std::optional<double> host_rate, HostRate(command));
  ASSIGN_OR_RETURN(const Training training, LoadTraining(command, accelerator));
  const EstimatorOptions& options = training.options;
  RETURN_IF_ERROR(CheckTraceFlag(command, options));
  LogFullLength(options);
  ModelCheck check{.accelerator = accelerator, .batch_size = training.batch_size};
  check.steps = training.steps;
  check.tokens_of_example = TokensOfExample(options.features);
  check.host_examples_per_second = host_rate;
  check.batch_shares = IsBroadcast(options.config) ? 1 : accelerator.devices();
  const int64_t batch_of_core = training.batch_size / check.batch_shares;
  const bool in_bf16 = ComputesInBFloat16(options);
  ASSIGN_OR_RETURN(check.step, CheckStep(options, check, batch_of_core, in_bf16));
  check.layers = LayersOf(check.step.program, check.step.forecast, accelerator);
  ASSIGN_OR_RETURN(check.largest_batch_of_core, LargestBatch(options, check));
  if (!in_bf16) {
    ASSIGN_OR_RETURN(check.in_bf16, CheckStep(options, check, batch_of_core, true));
  }
  check.slices = OtherSlices(check.step, accelerator);
  if (command.GetBool("measure_input")) {
    ASSIGN_OR_RETURN(check.input, MeasureInput(options, training.input_fn));
  }
  return check;
}

absl::Status CheckModel(const CommandLine& command) {
  if (command.Has("steps")) return absl::InvalidArgumentError("--steps wants --numerics");
  ASSIGN_OR_RETURN(const Accelerator accelerator,
                   ParseAcceleratorType(command.GetString("accelerator_type", "v2-8")));
  ASSIGN_OR_RETURN(const ModelCheck check, CheckTraining(command, accelerator));
  const absl::Status warned = CheckWarnings(command);
  if (const std::string dir = command.GetString("dump_dir"); warned.ok() && !dir.empty()) {
    RETURN_IF_ERROR(MakeDirectories(dir));
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(dir, "tpu.program"),
                                        PrintTpuProgram(check.step.program, check.step.forecast)));
  }
  if (warned.ok() && command.Has("trace")) {
    TraceEvents events;
    AddForecast(check, 1, events);
    RETURN_IF_ERROR(WriteTraceFile(command, events));
  }
  std::ostringstream out;
  WriteCheck(check, PrintsJson(command), out);
  RETURN_IF_ERROR(WriteOutput(out.str()));
  if (!check.step.memory.fits(accelerator)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a step of ", check.step.batch_of_core, " examples a core does not fit into the ",
        PrintTpuBytes(accelerator.generation->hbm_bytes), " of a core of ", accelerator.name(),
        check.largest_batch_of_core.value_or(0) == 0
            ? std::string(", nor does one of a single example")
            : absl::StrCat("; --train_batch_size=",
                           *check.largest_batch_of_core * check.batch_shares, " fits")));
  }
  return warned;
}

}  // namespace tpurun
