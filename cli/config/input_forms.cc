#include "cli/config/input_forms.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

using Form = proto::TPUConfig;
using PartitionDims = proto::TPUConfig::PartitionDims;

constexpr char kTraining[] = "tpu_config.per_host_input_for_training";
constexpr char kEvaluation[] = "tpu_config.eval_training_input_configuration";
constexpr char kCores[] = "tpu_config.num_cores_per_replica";
constexpr char kDims[] = "tpu_config.input_partition_dims";

constexpr int kLegalCores[] = {1, 2, 4, 8, 16, 32, 64, 128};

std::string FormName(Form::InputPipelineConfig form) {
  return Form::InputPipelineConfig_Name(form);
}

void AddField(const std::string& path, const std::string& message, ConfigErrors& errors) {
  errors.Add(path, absl::StrCat(path, ": ", message));
}

void CheckForms(const proto::RunConfig& run, const RequiredParts& required, ConfigErrors& errors) {
  const proto::TPUConfig& tpu = run.tpu_config();
  if (tpu.per_host_input_for_training() == Form::SLICED) {
    AddField(kTraining,
             "got SLICED, which is for evaluation and prediction alone, want PER_SHARD_V1, "
             "PER_HOST_V1, PER_HOST_V2 or BROADCAST; eval_training_input_configuration takes it",
             errors);
  }
  const Form::InputPipelineConfig evaluation = tpu.eval_training_input_configuration();
  if (evaluation != Form::PER_HOST_V1 && evaluation != Form::SLICED) {
    AddField(kEvaluation,
             absl::StrCat("got ", FormName(evaluation), ", want PER_HOST_V1 or SLICED"), errors);
  }
  const bool generates = run.predict().has_generate();
  const bool evaluates_on_cpu = required.evaluate && !(run.use_tpu() && run.eval_on_tpu());
  const bool predicts_on_cpu = required.predict && !generates && !run.use_tpu();
  if (evaluation == Form::SLICED && (evaluates_on_cpu || predicts_on_cpu)) {
    AddField(kEvaluation,
             absl::StrCat("got SLICED, which splits a batch over the cores of a TPU, but ",
                          evaluates_on_cpu ? "evaluate" : "predict", " runs on the CPU (",
                          run.use_tpu() ? "eval_on_tpu" : "use_tpu",
                          ": false), want PER_HOST_V1 or leave it out"),
             errors);
  }
}

void CheckCoresPerReplica(const proto::RunConfig& run, ConfigErrors& errors) {
  const proto::TPUConfig& tpu = run.tpu_config();
  const int cores = tpu.num_cores_per_replica();
  if (!tpu.has_num_cores_per_replica() || cores <= 0) return;  // the bounds tell of the latter
  const int device = DeviceOf(run).num_replicas();
  if (std::count(std::begin(kLegalCores), std::end(kLegalCores), cores) == 0) {
    AddField(kCores,
             absl::StrCat("got ", cores, ", want one of ", absl::StrJoin(kLegalCores, ", "),
                          ", and here 1: ", kNoModelParallelism),
             errors);
  } else if (cores > 1) {
    AddField(
        kCores,
        absl::StrCat("got ", cores,
                     cores > device ? absl::StrCat(", but the device has ", device, " cores") : "",
                     ", want 1 or leave it out: ", kNoModelParallelism),
        errors);
  }
  if (tpu.per_host_input_for_training() == Form::PER_SHARD_V1) {
    AddField(kCores,
             "is given with per_host_input_for_training: PER_SHARD_V1, but model parallelism needs "
             "per-host input; leave it out, or take PER_HOST_V2",
             errors);
  }
}

// "x", "y"
template <typename Features>
std::string Names(const Features& features) {
  std::vector<std::string> names;
  for (const auto& feature : features) names.push_back(Quote(feature.name()));
  return absl::StrJoin(names, ", ");
}

// The parts of one tensor: of the only one of `features`.
template <typename Features>
void CheckRank(const PartitionDims& dims, const std::string& path, const std::string& noun,
               const Features& features, ConfigErrors& errors) {
  if (features.size() != 1) {
    AddField(path,
             absl::StrCat("is of one ", noun, ", but the model has ",
                          features.empty() ? "none" : absl::StrCat(features.size(), ": "),
                          Names(features)),
             errors);
    return;
  }
  const int rank = features[0].shape_size() + 1;
  if (dims.dim_size() == 0 || dims.dim_size() == rank) return;
  AddField(path,
           absl::StrCat("got ", dims.dim_size(), " dimensions, but ", noun, " ",
                        Quote(features[0].name()), " has ", rank, " with that of the batch"),
           errors);
}

void CheckParts(const PartitionDims& dims, const std::string& path, const proto::TPUConfig& tpu,
                ConfigErrors& errors) {
  int64_t parts = 1;
  bool legal = true;
  for (int i = 0; i < dims.dim_size(); ++i) {
    legal = legal && dims.dim(i) >= 1 && !__builtin_mul_overflow(parts, dims.dim(i), &parts);
    if (dims.dim(i) >= 1) continue;
    AddField(ElementPath(FieldPath(path, "dim"), i),
             absl::StrCat("got ", dims.dim(i), ", want a number >= 1"), errors);
  }
  if (!legal || parts == 1 || !tpu.has_num_cores_per_replica()) return;
  if (parts == tpu.num_cores_per_replica()) return;
  AddField(path,
           absl::StrCat("its parts are ", absl::StrJoin(dims.dim(), " x "), " = ", parts,
                        ", want num_cores_per_replica, ", tpu.num_cores_per_replica(), ", or 1"),
           errors);
}

void CheckPartitionDims(const LoadedConfig& config, ConfigErrors& errors) {
  const proto::TPUConfig& tpu = config.run.tpu_config();
  const auto& dims = tpu.input_partition_dims();
  if (dims.empty()) return;
  const std::string first = ElementPath(kDims, 0);
  AddField(first, absl::StrCat("leave it out: ", kNoModelParallelism), errors);
  if (tpu.per_host_input_for_training() != Form::PER_HOST_V2) {
    AddField(first,
             absl::StrCat("is for per_host_input_for_training: PER_HOST_V2 alone, got ",
                          FormName(tpu.per_host_input_for_training())),
             errors);
  }
  if (!tpu.has_num_cores_per_replica()) {
    AddField(first, "needs num_cores_per_replica, which is not given", errors);
  }
  if (dims.size() > 2) {
    AddField(ElementPath(kDims, 2),
             absl::StrCat("got ", dims.size(),
                          " elements, want one, of the features, or two, with that of the labels"),
             errors);
  }
  for (int i = 0; i < dims.size(); ++i) CheckParts(dims[i], ElementPath(kDims, i), tpu, errors);
  if (config.model.feature().empty()) return;  // a mistake of its own
  CheckRank(dims[0], first, "feature", config.model.feature(), errors);
  if (dims.size() < 2) return;
  CheckRank(dims[1], ElementPath(kDims, 1), "label", config.model.label(), errors);
}

}  // namespace

void CheckInputForms(const LoadedConfig& config, const RequiredParts& required,
                     ConfigErrors& errors) {
  CheckForms(config.run, required, errors);
  CheckCoresPerReplica(config.run, errors);
  CheckPartitionDims(config, errors);
}

void CheckShared(const proto::RunConfig& run, ModeKey mode, const std::string& field, int64_t size,
                 ConfigErrors& errors) {
  const InputDeployment deployment =
      DeployInput(run.tpu_config(), TopologyOf(run, mode), mode, size);
  const int replicas = deployment.num_replicas;
  if (deployment.divides()) return;
  const int64_t below = size / replicas * replicas;
  const std::string nearest =
      below == 0 ? absl::StrCat(replicas) : absl::StrCat(below, " or ", below + replicas);
  const std::string what =
      deployment.form == Form::SLICED
          ? absl::StrCat("which cannot be sliced ", replicas,
                         " ways along dimension 0 (eval_training_input_configuration: SLICED)")
          : absl::StrCat("which ", replicas, " cores do not divide");
  const std::string streamed = mode == ModeKey::kPredict && below == 0
                                   ? absl::StrCat("; --predict_batch_size=", replicas,
                                                  " --max_wait_ms=0 answers each row as it comes")
                                   : "";
  AddField(field,
           absl::StrCat("got ", size, ", ", what, ", want a multiple of ", replicas, ": ", nearest,
                        streamed),
           errors);
}

}  // namespace tpurun
