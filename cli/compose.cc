#include "cli/compose.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/check_input.h"
#include "cli/config/hparams.h"
#include "cli/config/print_config.h"
#include "cli/input_flag.h"
#include "cli/logging.h"
#include "cli/signals.h"
#include "data/character_vocabulary.h"
#include "data/input_fn.h"
#include "data/sources/source_list.h"
#include "glog/logging.h"
#include "models/model_builder.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/ir/machine.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

// Several evaluations, all of them with names, and no --name.
void CheckNamed(const proto::RunConfig& run, const RequiredParts& required, ConfigErrors& errors) {
  if (!required.evaluate || required.all_evaluations || required.evaluation.has_value() ||
      run.evaluate_size() < 2) {
    return;
  }
  std::vector<std::string> names;
  for (const proto::Evaluate& evaluation : run.evaluate()) {
    if (evaluation.name().empty()) return;
    names.push_back(evaluation.name());
  }
  errors.AddAt({.flag = "--name"},
               absl::StrCat("must be given, one of: ", absl::StrJoin(names, ", "), ", or ",
                            kAllEvaluations, " for all of them"));
}

// The inputs of the configuration, each parsed once.
class Inputs {
 public:
  explicit Inputs(const LoadedConfig& config) : config_(config) {}

  // The plan of the input at `path`; nullptr after an error, which the first call adds.
  std::shared_ptr<const InputPlan> Parse(const proto::Input& input, const std::string& path,
                                         ConfigErrors& errors) {
    const auto [plan, is_new] = plans_.try_emplace(path);
    if (is_new) {
      plan->second =
          ParseInput(input, config_.run.transformation_func(), config_.locations, path, "", errors);
    }
    return plan->second;
  }

  // The same, with the errors as a status.
  absl::StatusOr<std::shared_ptr<const InputPlan>> Parse(const proto::Input& input,
                                                         const std::string& path) {
    ConfigErrors errors;
    std::shared_ptr<const InputPlan> plan = Parse(input, path, errors);
    RETURN_IF_ERROR(ErrorList(errors.Lines(config_.locations), errors.code()));
    return plan;
  }

  // The InputFn of a mode; nullptr after an error.
  InputFn MakeFn(const ModeInput& of, const std::vector<FeatureSpec>& features,
                 ConfigErrors& errors) {
    std::shared_ptr<const InputPlan> plan = Parse(*of.input, of.path, errors);
    if (plan == nullptr) return nullptr;
    CheckModeInput(config_, features, of, *plan, errors);
    return MakeInputFn(std::move(plan));
  }

 private:
  const LoadedConfig& config_;
  std::map<std::string, std::shared_ptr<const InputPlan>> plans_;  // by path
};

std::vector<EvaluationInput> MakeEvaluations(const LoadedConfig& config,
                                             const RequiredParts& required,
                                             const std::vector<FeatureSpec>& features,
                                             Inputs& inputs, ConfigErrors& errors) {
  std::vector<EvaluationInput> evaluations;
  if (!required.evaluate) return evaluations;
  const int chosen = ChooseEvaluation(config.run, required);
  for (int i = 0; i < config.run.evaluate_size(); ++i) {
    if (i != chosen && !required.all_evaluations) continue;
    proto::Evaluate evaluate = config.run.evaluate(i);
    if (required.evaluation_steps.has_value()) evaluate.set_steps(*required.evaluation_steps);
    const std::string path = ElementPath("evaluate", i) + ".input";
    if (required.alternating && ReadsStandardInput(evaluate.input().source())) {
      errors.Add(
          path + ".source",
          absl::StrCat(path,
                       ".source: got \"-\", standard input, which can be read only "
                       "once, and train_and_evaluate evaluates again and again; want files"));
    }
    InputFn input_fn;  // nullptr without an input, which ValidateConfig refuses
    if (evaluate.has_input()) {
      input_fn =
          inputs.MakeFn({ModeKey::kEval, path, &evaluate.input(), &evaluate}, features, errors);
    }
    evaluations.push_back({evaluate, std::move(input_fn)});
  }
  return evaluations;
}

// The part of the configuration that checkpoints carry. `model` is ParsedModel::canonical.
proto::RunConfig CanonicalConfig(const LoadedConfig& config, const proto::ModelSpec& model) {
  const proto::RunConfig& run = config.run;
  const auto values = [&run](const proto::Input& input) {
    return InputValues(input, run.transformation_func());
  };
  proto::RunConfig canonical;
  canonical.set_use_tpu(run.use_tpu());
  const int cores = DeviceOf(run).num_replicas();
  if (run.use_tpu() && cores != kDevice.num_replicas()) {
    canonical.mutable_tpu_config()->set_num_shards(cores);
  }
  *canonical.mutable_model() = model;
  if (run.train().has_input()) {
    *canonical.mutable_train()->mutable_input() = values(run.train().input());
  }
  for (const proto::Evaluate& evaluate : run.evaluate()) {
    if (!evaluate.has_input()) continue;
    proto::Evaluate& part = *canonical.add_evaluate();
    part.set_name(evaluate.name());
    *part.mutable_input() = values(evaluate.input());
  }
  if (run.predict().has_input()) {
    *canonical.mutable_predict()->mutable_input() = values(run.predict().input());
  }
  return canonical;
}

// Where a configuration reads text by the vocabulary of the model, and the vocabulary_file that it
// gives there.
struct VocabularyUse {
  std::string path;  // empty: nowhere
  std::string file;
};

VocabularyUse VocabularyUseOf(const proto::RunConfig& run) {
  if (run.predict().has_generate())
    return {"predict.generate", run.predict().generate().vocabulary_file()};
  for (const auto& [path, input] :
       {std::pair("predict.input", run.predict().input()), {"train.input", run.train().input()}}) {
    const proto::Source& source = input.source();
    if (source.has_text())
      return {absl::StrCat(path, ".source.text"), source.text().vocabulary_file()};
  }
  return {};
}

// The vocabulary of a model of text goes along with it.
AssetsFn MakeAssetsFn(const LoadedConfig& config) {
  const VocabularyUse use = VocabularyUseOf(config.run);
  const std::string where = use.path.empty() ? config.run_path : config.locations.Where(use.path);
  return [use, where](
             const TrainedFolder& trained) -> absl::StatusOr<std::map<std::string, std::string>> {
    std::map<std::string, std::string> assets;
    const std::string there = JoinPath(trained.dir, kVocabularyFile);
    const bool of_text = !use.path.empty() || trained.assets.count(kVocabularyFile) > 0;
    if (!of_text && IsAbsent(there)) return assets;
    const absl::StatusOr<CharacterVocabulary> vocabulary =
        CharacterVocabulary::ReadTrained(trained, use.file, where);
    if (vocabulary.ok()) {
      assets[kVocabularyFile] = vocabulary->FileText();
    } else if (of_text || !absl::IsDataLoss(vocabulary.status())) {
      return vocabulary.status();
    } else {
      LOG(WARNING) << there << " does not go along with the model, it is no vocabulary of "
                   << "characters: " << vocabulary.status().message();
    }
    return assets;
  };
}

// A configuration that a training has written into its model_dir may be somebody else's: its
// commands run only where that is wanted.
bool RunsHooks(const CommandLine& command, const LoadedConfig& config,
               const RequiredParts& required) {
  const bool has_hooks = (required.train && config.run.training_hook_size() > 0) ||
                         (required.evaluate && config.run.evaluation_hook_size() > 0);
  if (!has_hooks || command.GetBool("run_hooks")) return true;
  if (!config.of_training) return true;
  // A verb that runs no hooks at all says nothing of them.
  const std::vector<Flag>& flags = command.verb().flags;
  const bool may_run = std::any_of(flags.begin(), flags.end(),
                                   [](const Flag& flag) { return flag.name == "run_hooks"; });
  if (!may_run) return false;
  LOG(WARNING) << "The hooks of " << config.run_path
               << ", which a training has written, are not run; --run_hooks runs them.";
  return false;
}

// The input whose fields an exported model takes, and its path: that of predict, else of an
// evaluation, else of the training, which transform the model's features alike. Null where none
// reads fields: windows of text are characters already.
std::pair<const proto::Input*, std::string> ServedInput(const proto::RunConfig& run) {
  if (run.predict().has_input()) return {&run.predict().input(), "predict.input"};
  const auto has_fields = [](const auto& part) {
    return part.has_input() && !part.input().source().has_text();
  };
  for (int i = 0; i < run.evaluate_size(); ++i) {
    if (!has_fields(run.evaluate(i))) continue;
    return {&run.evaluate(i).input(), ElementPath("evaluate", i) + ".input"};
  }
  if (has_fields(run.train())) return {&run.train().input(), "train.input"};
  return {nullptr, ""};
}

// The words of labels are those of the first input that has them: one to predict may have no
// labels.
absl::StatusOr<ExportInputs> MakeExportInputs(const LoadedConfig& config, Inputs& inputs) {
  const proto::RunConfig& run = config.run;
  ExportInputs exported{.assets_fn = MakeAssetsFn(config)};
  if (const auto [input, path] = ServedInput(run); input != nullptr) {
    ASSIGN_OR_RETURN(std::shared_ptr<const InputPlan> plan, inputs.Parse(*input, path));
    exported.input_fn = MakeExportInputFn(std::move(plan));
  }
  const auto add_vocabularies = [&](const proto::Input& input, const std::string& path) {
    ConfigErrors ignored;  // without a vocabulary numbers are the names
    const std::shared_ptr<const InputPlan> plan = inputs.Parse(input, path, ignored);
    if (plan == nullptr) return;
    absl::StatusOr<Vocabularies> found = InputVocabularies(*plan);
    if (found.ok()) exported.vocabularies.merge(*found);
  };
  if (run.predict().has_input()) add_vocabularies(run.predict().input(), "predict.input");
  for (int i = 0; i < run.evaluate_size(); ++i) {
    if (!run.evaluate(i).has_input()) continue;
    add_vocabularies(run.evaluate(i).input(), ElementPath("evaluate", i) + ".input");
  }
  if (run.train().has_input()) add_vocabularies(run.train().input(), "train.input");
  return exported;
}

void LogStart(const CommandLine& command, const LoadedConfig& config) {
  LOG(INFO) << "Configuration: " << FileTitle(config.run_path)
            << ", model_dir: " << config.run.model_dir() << ".";
  const Topology topology = TopologyOf(config.run);
  if (config.run.use_tpu()) {
    LOG(INFO) << "Found TPU system: " << topology.num_replicas() << " cores, " << topology.num_hosts
              << (topology.num_hosts == 1 ? " host." : " hosts.");
  } else {
    LOG(INFO) << "Running " << command.verb().name << " on the CPU.";
  }
}

// Longer profiles are too large for TensorBoard.
constexpr int64_t kMostProfiledSteps = 1000;

// The value of --profile_steps. nullopt: not given.
absl::StatusOr<std::optional<StepRange>> StepsToProfile(const CommandLine& command) {
  if (!command.Has("profile_steps")) return std::nullopt;
  const std::string text = command.GetString("profile_steps");
  const size_t dash = text.find('-');
  StepRange range;
  if (dash != std::string::npos && absl::SimpleAtoi(text.substr(0, dash), &range.first) &&
      absl::SimpleAtoi(text.substr(dash + 1), &range.last) && range.first >= 1 &&
      range.last >= range.first && range.last - range.first < kMostProfiledSteps) {
    return range;
  }
  return absl::InvalidArgumentError(absl::StrCat("--profile_steps: got ", Quote(text),
                                                 ", want A-B with 1 <= A <= B, at most ",
                                                 kMostProfiledSteps, " steps, such as 100-110"));
}

}  // namespace

void ShareReplicas(int processes, LoadedConfig& config, ConfigErrors& errors) {
  if (!config.run.use_tpu()) {
    errors.Add("use_tpu",
               absl::StrCat("use_tpu: got false, which runs one replica, but ", processes,
                            " processes were started, want true or one process"));
    return;
  }
  proto::TPUConfig& tpu = *config.run.mutable_tpu_config();
  if (!tpu.has_num_shards()) tpu.set_num_shards(processes * kReplicasOfHost);
  const int shards = tpu.num_shards();
  const bool one_host = shards == kReplicasOfHost;
  if (shards <= 0 || (!one_host && shards / processes >= kLeastReplicasOfProcess)) return;
  errors.Add(
      "tpu_config.num_shards",
      absl::StrCat("tpu_config.num_shards: got ", shards, " for ", processes, " processes, want ",
                   std::max(2 * kReplicasOfHost, processes * kLeastReplicasOfProcess), " or more: ",
                   kLeastReplicasOfProcess, " for each process, and one host's ", kReplicasOfHost,
                   " stay together; without it there are ", processes * kReplicasOfHost));
}

absl::StatusOr<ModeKey> ModeOf(const CommandLine& command) {
  const std::string mode = command.GetString("mode", "train");
  if (mode == "train") return ModeKey::kTrain;
  if (mode == "evaluate") return ModeKey::kEval;
  if (mode == "predict") return ModeKey::kPredict;
  return absl::InvalidArgumentError(
      absl::StrCat("--mode: got ", Quote(mode), ", want train, evaluate or predict"));
}

RequiredParts PartsOf(ModeKey mode) {
  return {.train = mode == ModeKey::kTrain,
          .evaluate = mode == ModeKey::kEval,
          .predict = mode == ModeKey::kPredict};
}

absl::StatusOr<EstimatorOptions> MakeOptions(const CommandLine& command, const LoadedConfig& config,
                                             const RequiredParts& required, ParsedModel model) {
  ASSIGN_OR_RETURN(proto::RunConfig effective, EffectiveConfig(config));
  return EstimatorOptions{.config = std::move(effective),
                          .where = [locations = config.locations](
                                       const std::string& path) { return locations.Where(path); },
                          .files_read = [config, required] { return FilesRead(config, required); },
                          .model_fn = std::move(model.model_fn),
                          .features = std::move(model.features),
                          .topology = TopologyOf(config.run),
                          .num_workers = static_cast<int>(command.GetInt("worker_threads")),
                          .kernels = *KernelChoiceOf(command.GetString("kernels", "fastest")),
                          .dump_dir = command.GetString("dump_dir"),
                          .dump_infeed = command.GetString("dump_infeed"),
                          .allow_untrained = command.GetBool("allow_untrained"),
                          .canonical = CanonicalConfig(config, model.canonical),
                          .interrupt = &InterruptCount(),
                          .after_checks = [command] { return CheckWarnings(command); }};
}

std::vector<std::string> ProtectedFiles(const EstimatorOptions& options) {
  std::vector<std::string> inputs = options.files_read();
  const std::vector<std::string> state = FilesOfTraining(options.config.model_dir());
  inputs.insert(inputs.end(), state.begin(), state.end());
  return inputs;
}

absl::StatusOr<Composition> Compose(const CommandLine& command, const RequiredParts& of_verb,
                                    Fabric* fabric) {
  ASSIGN_OR_RETURN(LoadOptions load, command.load_options());
  if (fabric != nullptr) {
    load.started.count = fabric->size();
    load.started.rank = fabric->rank();
  }
  ConfigErrors errors;
  ASSIGN_OR_RETURN(LoadedConfig loaded, LoadConfig(load, errors));
  RequiredParts required = of_verb;
  if (fabric != nullptr) {
    required.num_processes = fabric->size();
    ShareReplicas(fabric->size(), loaded, errors);
  }
  const bool own_input = !command.Has("input");
  if (!own_input) UseInputFlag(command.GetList("input"), required, &loaded, errors);
  const LoadedConfig config = std::move(loaded);
  ValidateConfig(config, required, errors);
  CheckNamed(config.run, required, errors);
  ParsedModel model = ParseModel(config.model, config.locations, errors, TargetOf(config.run));
  Inputs inputs(config);
  Composition composition;
  const proto::RunConfig& run = config.run;
  if (required.train && run.train().has_input()) {
    composition.input_fn = inputs.MakeFn({ModeKey::kTrain, "train.input", &run.train().input()},
                                         model.features, errors);
  }
  if (required.predict && run.predict().has_input()) {
    composition.input_fn = inputs.MakeFn(
        {ModeKey::kPredict, "predict.input", &run.predict().input()}, model.features, errors);
  }
  composition.evaluations = MakeEvaluations(config, required, model.features, inputs, errors);
  for (EvaluationInput& evaluation : composition.evaluations) evaluation.write_events = own_input;
  RETURN_IF_ERROR(ErrorList(errors.Lines(config.locations), errors.code()));
  LogWarnings(errors.Warnings(config.locations));
  RETURN_IF_ERROR(CheckWarnings(command));
  ASSIGN_OR_RETURN(composition.options, MakeOptions(command, config, required, std::move(model)));
  if (fabric != nullptr) {
    composition.options.fabric = fabric;
    composition.options.topology.num_processes = fabric->size();
    composition.options.topology.process = fabric->rank();
  }
  if (!required.train) composition.options.topology = composition.options.topology.Limited();
  composition.options.run_hooks = RunsHooks(command, config, required);
  if (required.train) {
    std::optional<SequenceBuckets>& buckets = composition.options.train.buckets;
    if (run.train().has_input()) {
      ASSIGN_OR_RETURN(const auto plan, inputs.Parse(run.train().input(), "train.input"));
      buckets = SequenceBucketsOf(*plan);
    }
    composition.options.train.allow_changed_input = command.GetBool("allow_changed_input");
    ASSIGN_OR_RETURN(composition.options.train.profiled, StepsToProfile(command));
    if (buckets.has_value() && composition.options.train.profiled.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--profile_steps: ", buckets->where,
                       ": steps of bucket_by_sequence_length are of ", buckets->lengths.size(),
                       " programs, and a profile is of one; tpurun profile shows that "
                       "of the longest sequences"));
    }
    composition.options.train.hparams = HParamsOf(config);
    ASSIGN_OR_RETURN(composition.options.train.config_text, PrintConfig(config));
  }
  const bool exports =
      required.export_model ||
      (required.alternating && !config.run.train_and_evaluate().exporter().empty());
  if (exports) {
    ASSIGN_OR_RETURN(composition.export_inputs, MakeExportInputs(config, inputs));
  }
  LogStart(command, config);
  return composition;
}

}  // namespace tpurun
