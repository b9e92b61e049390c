#include "cli/check_model.h"

#include <algorithm>
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
#include "runtime/estimator/step_graph.h"
#include "runtime/io/file.h"
#include "runtime/tpu/tpu_program_text.h"

namespace tpurun {
namespace {

// Cores of the graph that stands for a larger slice, whose cores have the same program.
constexpr int kMostCoresOfGraph = kMaxLocalReplicas;

struct Training {
  EstimatorOptions options;
  int64_t batch_size = 0;  // of all cores of the slice
};

void SetForSlice(const std::string& path, int64_t value, const Accelerator& accelerator,
                 LoadOptions& load) {
  load.edits.push_back({.path = path,
                        .value = absl::StrCat(value),
                        .flag = absl::StrCat("--accelerator_type=", accelerator.name())});
}

// TPUEstimator's words for E4.
absl::Status CheckBatch(int64_t batch_size, const Accelerator& accelerator,
                        const std::string& where) {
  const int64_t cores = accelerator.cores;
  if (batch_size % cores == 0) return absl::OkStatus();
  const int64_t below = batch_size / cores * cores;
  return absl::InvalidArgumentError(absl::StrCat(
      where, ": train batch size ", batch_size, " must be divisible by number of replicas ", cores,
      ", the cores of ", accelerator.name(), ": ",
      below > 0 ? absl::StrCat(below, " or ") : std::string(), below + cores));
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

absl::StatusOr<Training> LoadTraining(const CommandLine& command, const Accelerator& accelerator) {
  ASSIGN_OR_RETURN(LoadOptions load, command.load_options());
  const int cores = std::min(accelerator.cores, kMostCoresOfGraph);
  load.edits.push_back({.path = "use_tpu",
                        .value = "true",
                        .flag = absl::StrCat("--accelerator_type=", accelerator.name())});
  SetForSlice("tpu_config.num_shards", cores, accelerator, load);
  Training training;
  if (cores < accelerator.cores) {
    ConfigErrors ignored;
    ASSIGN_OR_RETURN(const LoadedConfig config, LoadConfig(load, ignored));
    training.batch_size = config.run.train_batch_size();
    RETURN_IF_ERROR(
        CheckBatch(training.batch_size, accelerator, config.locations.Where("train_batch_size")));
    SetForSlice("train_batch_size", training.batch_size / accelerator.cores * cores, accelerator,
                load);
  }
  ConfigErrors errors;
  ASSIGN_OR_RETURN(const LoadedConfig config, LoadConfig(load, errors));
  ValidateConfig(config, {.train = true}, errors);
  ParsedModel model = ParseModel(config.model, config.locations, errors, TargetOf(config.run));
  const ModeInput input{ModeKey::kTrain, "train.input", &config.run.train().input()};
  const std::shared_ptr<const InputPlan> plan = ParseInput(
      *input.input, config.run.transformation_func(), config.locations, input.path, "", errors);
  if (plan != nullptr) CheckModeInput(config, model.features, input, *plan, errors);
  RETURN_IF_ERROR(ErrorList(errors.Lines(config.locations), errors.code()));
  LogWarnings(errors.Warnings(config.locations));
  LogWarnings(WarningsOfTypes(config));
  if (training.batch_size == 0) training.batch_size = config.run.train_batch_size();
  ASSIGN_OR_RETURN(training.options, MakeOptions(command, config, std::move(model)));
  return training;
}

bool ComputesInBFloat16(const EstimatorOptions& options) {
  return options.config.model().compute_dtype() == proto::BFLOAT16;
}

absl::StatusOr<CheckedStep> CheckStep(EstimatorOptions options, const Accelerator& accelerator,
                                      int64_t batch_of_core, bool bf16_activations) {
  options.config.set_train_batch_size(batch_of_core * options.topology.num_replicas());
  ASSIGN_OR_RETURN(const StepGraph step, BuildStepGraph(options, ModeKey::kTrain));
  CheckedStep checked{.batch_of_core = batch_of_core};
  ASSIGN_OR_RETURN(checked.program,
                   MakeTpuProgram(step.graph, {.bf16_activations = bf16_activations}));
  checked.forecast = ForecastStep(checked.program, accelerator, TpuAssumptions());
  checked.memory = MemoryOf(checked.program);
  return checked;
}

// Without a value if the most that is tried fits.
absl::StatusOr<std::optional<int64_t>> LargestBatch(const EstimatorOptions& options,
                                                    const Accelerator& accelerator,
                                                    const CheckedStep& step) {
  const auto fits = [&](int64_t batch) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const CheckedStep other,
                     CheckStep(options, accelerator, batch, ComputesInBFloat16(options)));
    return other.memory.fits(accelerator);
  };
  // All of `fitting` fit, none of `too_many`.
  int64_t fitting = 0, too_many = kMostExamplesOfCore;
  if (step.memory.fits(accelerator)) {
    fitting = step.batch_of_core;
    for (int64_t batch = 2 * fitting; fitting < kMostExamplesOfCore; batch *= 2) {
      ASSIGN_OR_RETURN(const bool more, fits(batch));
      if (!more) {
        too_many = batch;
        break;
      }
      fitting = batch;
    }
    if (fitting >= kMostExamplesOfCore) return std::nullopt;
  } else {
    too_many = step.batch_of_core;
  }
  const int64_t unit = too_many > 16 ? 8 : 1;
  while (too_many - fitting > unit) {
    const int64_t middle =
        std::max<int64_t>((fitting + too_many) / 2 / unit * unit, fitting + unit);
    if (middle >= too_many) break;
    ASSIGN_OR_RETURN(const bool more, fits(middle));
    (more ? fitting : too_many) = middle;
  }
  return fitting;
}

std::vector<std::pair<int, double>> OtherSlices(const CheckedStep& step,
                                                const Accelerator& accelerator) {
  std::vector<std::pair<int, double>> slices;
  for (int cores = 8; cores <= accelerator.generation->most_cores; cores *= 4) {
    const Accelerator other{.generation = accelerator.generation, .cores = cores};
    slices.emplace_back(cores, ForecastStep(step.program, other, TpuAssumptions()).step);
  }
  return slices;
}

}  // namespace

absl::StatusOr<ModelCheck> CheckTraining(const CommandLine& command,
                                         const Accelerator& accelerator) {
  ASSIGN_OR_RETURN(const Training training, LoadTraining(command, accelerator));
  const EstimatorOptions& options = training.options;
  ModelCheck check{.accelerator = accelerator, .batch_size = training.batch_size};
  if (options.config.train().max_steps() > 0) check.steps = options.config.train().max_steps();
  const int64_t batch_of_core = training.batch_size / accelerator.cores;
  const bool in_bf16 = ComputesInBFloat16(options);
  ASSIGN_OR_RETURN(check.step, CheckStep(options, accelerator, batch_of_core, in_bf16));
  check.layers = LayersOf(check.step.program, check.step.forecast, accelerator);
  ASSIGN_OR_RETURN(check.largest_batch_of_core, LargestBatch(options, accelerator, check.step));
  if (!in_bf16) {
    ASSIGN_OR_RETURN(check.in_bf16, CheckStep(options, accelerator, batch_of_core, true));
  }
  check.slices = OtherSlices(check.step, accelerator);
  return check;
}

absl::Status CheckModel(const CommandLine& command) {
  const std::string format = command.GetString("format", "text");
  if (format != "text" && format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format: got ", Quote(format), ", want text or json"));
  }
  if (command.Has("steps")) return absl::InvalidArgumentError("--steps wants --numerics");
  RETURN_IF_ERROR(CheckTraceFlag(command));
  ASSIGN_OR_RETURN(const Accelerator accelerator,
                   ParseAcceleratorType(command.GetString("accelerator_type", "v2-8")));
  ASSIGN_OR_RETURN(const ModelCheck check, CheckTraining(command, accelerator));
  if (const std::string dir = command.GetString("dump_dir"); !dir.empty()) {
    RETURN_IF_ERROR(MakeDirectories(dir));
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(dir, "tpu.program"),
                                        PrintTpuProgram(check.step.program, check.step.forecast)));
  }
  if (command.Has("trace")) {
    TraceEvents events;
    AddForecast(check, 1, events);
    RETURN_IF_ERROR(WriteTraceFile(command, events));
  }
  std::ostringstream out;
  WriteCheck(check, format == "json", out);
  RETURN_IF_ERROR(WriteOutput(out.str()));
  if (!check.step.memory.fits(accelerator)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a step of ", check.step.batch_of_core, " examples a core does not fit into the ",
        PrintTpuBytes(accelerator.generation->hbm_bytes), " of a core of ", accelerator.name(),
        check.largest_batch_of_core.value_or(0) == 0
            ? std::string(", nor does one of a single example")
            : absl::StrCat("; --train_batch_size=",
                           *check.largest_batch_of_core * accelerator.cores, " fits")));
  }
  return CheckWarnings(command);
}

}  // namespace tpurun
