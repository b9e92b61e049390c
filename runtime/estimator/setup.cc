#include "runtime/estimator/setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/best_checkpoint.h"
#include "runtime/checkpoint/drift.h"
#include "runtime/checkpoint/warm_start.h"
#include "runtime/estimator/placement.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/ops/op_list.h"
#include "runtime/optimizers/moving_average.h"

namespace tpurun {
namespace {

std::string ModeName(ModeKey mode) {
  switch (mode) {
    case ModeKey::kTrain:
      return "train";
    case ModeKey::kEval:
      return "eval";
    case ModeKey::kPredict:
      return "predict";
  }
  return "";
}

// Returns DataLoss with a remedy for a checkpoint that is damaged or, although listed, missing.
absl::Status Damaged(const absl::Status& status, ModeKey mode, const std::string& model_dir,
                     const std::string& prefix) {
  const bool is_gone = IsAbsent(BundleIndexPath(prefix));
  std::string message = absl::StrCat(
      status.message(), is_gone ? "; the checkpoint is gone" : "; the checkpoint is damaged",
      ": restore it from a copy");
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(model_dir);
  const std::vector<std::string> all = state.ok() ? state->all : std::vector<std::string>();
  const auto damaged = std::find(all.begin(), all.end(), prefix);
  for (auto earlier = std::make_reverse_iterator(damaged); earlier != all.rend(); ++earlier) {
    if (!FileExists(BundleIndexPath(*earlier))) continue;
    absl::StrAppend(&message, ", or name an earlier one (", *earlier, ") ",
                    mode == ModeKey::kTrain ? "" : "by --checkpoint or ", "in ",
                    CheckpointStatePath(model_dir));
    break;
  }
  return absl::DataLossError(message);
}

// Opens the best checkpoint. A training that finds a better one may delete it meanwhile.
absl::StatusOr<Checkpoint> OpenBestCheckpoint(const std::string& model_dir) {
  while (true) {
    ASSIGN_OR_RETURN(const std::string prefix, FindBestCheckpoint(model_dir));
    absl::StatusOr<Checkpoint> opened = Checkpoint::Open(prefix);
    if (opened.ok() || !IsDeletedCheckpoint(opened.status())) return opened;
    const absl::StatusOr<std::string> now = FindBestCheckpoint(model_dir);
    if (now.ok() && *now == prefix) return opened;
  }
}

// Initializes each copy of a moving average with the same copy of its variable.
void BeginAverages(const proto::ModelSpec& model, const std::vector<Variable>& model_variables,
                   VariableStore& store) {
  for (const Variable& variable : model_variables) {
    const std::string name = EvaluatedName(model, variable);
    StoredVariable* const average = name == variable.name ? nullptr : store.FindMutable(name);
    if (average == nullptr) continue;  // only training has averages
    const StoredVariable& averaged = *store.Find(variable.name);
    for (int copy = 0; copy < average->copies(); ++copy) {
      std::memcpy(average->copy(copy), averaged.copy(std::min(copy, averaged.copies() - 1)),
                  average->copy_bytes());
    }
  }
}

}  // namespace

EstimatorOptions OptionsOfOneProcess(EstimatorOptions options) {
  options.fabric = nullptr;
  options.topology.num_processes = 1;
  options.topology.process = 0;
  options.topology = options.topology.Limited();
  return options;
}

EstimatorOptions OptionsOfEvaluation(EstimatorOptions options) {
  if (options.config.eval_on_tpu()) return options;
  options = OptionsOfOneProcess(std::move(options));
  options.config.set_use_tpu(false);
  options.topology = TopologyOfEvaluation(options.config);
  return options;
}

absl::Status CheckWritable(const std::string& dir) {
  std::string nearest = dir;  // the nearest directory that exists
  const auto refuse = [&](const std::string& why) {
    return absl::PermissionDeniedError(absl::StrCat(
        "cannot write to ", dir, nearest == dir ? "" : absl::StrCat(": ", nearest), ": ", why));
  };
  // Another process may remove a directory between any two calls.
  const auto is_absent = [] { return errno == ENOENT || errno == ENOTDIR; };
  while (true) {
    if (nearest.empty()) nearest.assign(1, '.');
    struct stat info;
    const bool there = stat(nearest.c_str(), &info) == 0;
    if (there && !S_ISDIR(info.st_mode)) return refuse("it is not a directory");
    if (there && access(nearest.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
    const std::string above = DirName(nearest);
    if (!is_absent() || nearest == "." || above == nearest) return refuse(std::strerror(errno));
    nearest = above;
  }
}

InputDeployment DeploymentOf(const EstimatorOptions& options, ModeKey mode) {
  return DeployInput(options.config.tpu_config(), options.topology, mode,
                     BatchSizeOf(options.config, mode));
}

bool FeedsLabels(const InputSource& input, const std::vector<FeatureSpec>& features) {
  return input.features.size() == features.size();
}

absl::StatusOr<EstimatorSpec> CallModelFn(const EstimatorOptions& options, ModeKey mode,
                                          int64_t batch_size, bool has_labels,
                                          SequenceStep sequence_step,
                                          const std::map<std::string, int64_t>& sequence_lengths) {
  const InputDeployment deployment =
      DeployInput(options.config.tpu_config(), options.topology, mode, batch_size);
  if (batch_size <= 0 || !deployment.divides()) {
    return absl::InvalidArgumentError(
        absl::StrCat(BatchSizeName(mode), " must be a multiple of the ", deployment.num_replicas,
                     " cores, got ", batch_size));
  }
  VLOG(1) << "Calling the model function for " << ModeName(mode) << " with "
          << deployment.batch_per_replica() << " rows a core.";
  return options.model_fn({.mode = mode,
                           .topology = options.topology,
                           .batch_per_replica = deployment.batch_per_replica(),
                           .has_labels = has_labels,
                           .use_tpu = options.config.use_tpu(),
                           .seed = options.config.tf_random_seed(),
                           .sequence_step = sequence_step,
                           .sequence_lengths = sequence_lengths});
}

CompileOptions MakeCompileOptions(const EstimatorOptions& options) {
  CompileOptions compile{.ops = OpsOfPasses()};
  compile.machine.kernels = options.kernels;
  compile.processes = options.topology.num_processes;
  compile.process = options.topology.process;
  compile.library = KernelLibraries();
  compile.compiled = [logs = options.config.log_device_placement()](const CoreProgram& program) {
    VLOG(1) << "Compiled " << Quote(program.name) << " for " << program.machine << ".";
    if (!logs) return;
    for (const std::string& line : PlacementOf(program)) LOG(INFO) << line;
  };
  std::string dir = options.dump_dir;
  if (dir.empty()) return compile;
  const int process = options.topology.process;
  if (process > 0) dir = JoinPath(dir, absl::StrCat("process_", process));
  compile.dump = [dir](const std::string& file, const std::string& text) -> absl::Status {
    RETURN_IF_ERROR(MakeDirectories(dir));
    return WriteFileAtomically(JoinPath(dir, file), text);
  };
  return compile;
}

absl::StatusOr<InfeedPtr> CreateInfeed(const EstimatorOptions& options, ModeKey mode,
                                       const std::string& name, int64_t first_step,
                                       InputSource& input, const CoreProgram& program,
                                       InfeedOptions infeed) {
  const InputDeployment deployment = DeploymentOf(options, mode);
  infeed.batch_size = deployment.local_pipeline_rows();
  infeed.rows = deployment.local_rows();
  infeed.num_replicas = deployment.local_replicas();
  infeed.pipelines = deployment.local_pipelines();
  infeed.broadcast = deployment.is_broadcast();
  infeed.prefetch = input.prefetch;
  infeed.trace = options.host_trace;
  if (deployment.num_replicas > 1) {
    infeed.initial_sleep =
        std::chrono::seconds(options.config.tpu_config().initial_infeed_sleep_secs());
  }
  if (!options.dump_infeed.empty()) {
    const int process = options.topology.process;
    const std::string file = process > 0 ? absl::StrCat(name, "_process_", process) : name;
    absl::StatusOr<std::unique_ptr<InfeedDump>> dump =
        InfeedDump::Create(options.dump_infeed, file, program.infeed,
                           {.first_step = first_step,
                            .first_core = deployment.first_replica(),
                            .num_cores = deployment.local_replicas()},
                           options.files_read());
    if (!dump.ok()) return Annotate(dump.status(), "--dump_infeed");
    infeed.dump = *std::move(dump);
  }
  return Infeed::Create(input.features, std::move(input.batches), program, std::move(infeed));
}

absl::StatusOr<std::optional<Checkpoint>> ChooseCheckpoint(ModeKey mode,
                                                           const std::string& model_dir,
                                                           const std::string& named) {
  if (named.empty()) {
    const absl::StatusOr<CheckpointState> state = ReadCheckpointState(model_dir);
    if (!state.ok() && IsAbsent(CheckpointStatePath(model_dir))) return std::optional<Checkpoint>();
    if (absl::IsNotFound(state.status()) && mode != ModeKey::kPredict) {
      // The reason why the run cannot write is reported first.
      RETURN_IF_ERROR(CheckWritable(model_dir));
    }
    RETURN_IF_ERROR(state.status());
  }
  const bool best = named == kBestCheckpoint;
  const std::string& path = named.empty() ? model_dir : named;
  absl::StatusOr<Checkpoint> checkpoint =
      best ? OpenBestCheckpoint(model_dir) : Checkpoint::Open(path);
  if (checkpoint.ok()) return std::optional<Checkpoint>(*std::move(checkpoint));
  if (!absl::IsDataLoss(checkpoint.status())) return checkpoint.status();
  std::string prefix;
  if (best) {
    ASSIGN_OR_RETURN(prefix, FindBestCheckpoint(model_dir));
  } else if (IsDirectory(path)) {
    const absl::StatusOr<CheckpointState> state = ReadCheckpointState(path);
    if (!state.ok()) return checkpoint.status();  // `checkpoint` itself is damaged
    prefix = state->latest;
  } else {
    prefix = ResolveCheckpoint(path).value_or(path);
  }
  return Damaged(checkpoint.status(), mode, model_dir, prefix);
}

absl::StatusOr<std::optional<Checkpoint>> TrainedCheckpoint(const EstimatorOptions& options,
                                                            ModeKey mode,
                                                            const std::string& named) {
  const std::string& model_dir = options.config.model_dir();
  ASSIGN_OR_RETURN(std::optional<Checkpoint> chosen, ChooseCheckpoint(mode, model_dir, named));
  if (chosen.has_value()) return chosen;
  if (!options.allow_untrained) {
    return absl::NotFoundError(absl::StrCat(
        "could not find a trained model in ", model_dir,
        ": it has no checkpoint; train it first, or name one by --checkpoint (--allow_untrained "
        "takes fresh variables)"));
  }
  LOG(WARNING) << "Could not find trained model in model_dir: " << model_dir
               << ", running initialization to "
               << (mode == ModeKey::kEval ? "evaluate." : "predict.");
  return chosen;
}

absl::StatusOr<TrainedFolder> TrainedFolderOf(const EstimatorOptions& options,
                                              const std::optional<Checkpoint>& checkpoint) {
  if (!checkpoint.has_value()) return TrainedFolder{.dir = options.config.model_dir()};
  ASSIGN_OR_RETURN(RunState state, checkpoint->ReadRunState());
  return TrainedFolder{.dir = checkpoint->dir(), .assets = std::move(state.assets)};
}

absl::Status SetVariables(const EstimatorOptions& options,
                          const std::optional<Checkpoint>& checkpoint, bool with_state,
                          const std::vector<Variable>& model_variables, Session& session) {
  VariableStore& variables = session.variables();
  if (!checkpoint.has_value()) {
    RETURN_IF_ERROR(variables.Initialize(options.config.tf_random_seed()));
    VLOG(1) << "Initialized " << session.program().variables.size() << " variables by seed "
            << options.config.tf_random_seed() << ".";
    if (options.config.has_warm_start_from()) {
      RETURN_IF_ERROR(WarmStart(options.config.warm_start_from(), model_variables, variables));
    }
    BeginAverages(options.config.model(), model_variables, variables);
    return absl::OkStatus();
  }
  const absl::StatusOr<int64_t> step = checkpoint->GlobalStep();
  LOG(INFO) << "Restoring parameters from " << checkpoint->prefix()
            << (step.ok() ? absl::StrCat(", step ", *step) : "");
  variables.ClearState();
  RETURN_IF_ERROR(checkpoint->Restore(with_state, variables, [&](const Variable& variable) {
    return with_state ? variable.name : EvaluatedName(options.config.model(), variable);
  }));
  const std::vector<std::string> dropped =
      with_state ? checkpoint->NotIn(variables) : std::vector<std::string>();
  if (!dropped.empty()) {
    LOG(WARNING) << "The checkpoint has " << dropped.size()
                 << " variables that are not in the model, the first is \"" << dropped[0]
                 << "\": they are left out from here on. If that is not meant, go back to "
                 << checkpoint->prefix() << " with the optimizer that wrote them.";
  }
  ASSIGN_OR_RETURN(const RunState state, checkpoint->ReadRunState());
  if (!state.machine.empty() && state.machine != session.machine()) {
    LOG(WARNING) << "The checkpoint was written by " << state.machine << ", this is "
                 << session.machine() << ": results may differ in the last bits.";
  }
  return absl::OkStatus();
}

absl::Status WarnOfDrift(const EstimatorOptions& options, const Checkpoint& checkpoint,
                         ModeKey mode, const std::string& evaluation) {
  ASSIGN_OR_RETURN(const RunState state, checkpoint.ReadRunState());
  for (const std::string& line : Drift(state.model, options.canonical, mode, evaluation)) {
    LOG(WARNING) << line;
  }
  return absl::OkStatus();
}

}  // namespace tpurun
