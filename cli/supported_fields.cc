#include "cli/supported_fields.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/input_forms.h"

namespace tpurun {
namespace {

constexpr char kNoCluster[] = "the TPU is this process, not a job of a cluster";

}  // namespace

const std::vector<SupportedField>& SupportedFields() {
  static const auto* const kFields = new std::vector<SupportedField>{
      {"model_dir"},
      {"model_file"},
      {"use_tpu"},
      {"train_batch_size"},
      {"eval_batch_size"},
      {"predict_batch_size"},
      {"tf_random_seed"},
      {"save_summary_steps"},
      {"checkpoint_save_graph_def"},
      {"save_checkpoints_secs"},
      {"save_checkpoints_steps"},
      {"keep_checkpoint_max"},
      {"keep_checkpoint_every_n_hours"},
      {"log_step_count_steps"},
      {"allow_soft_placement"},
      {"log_device_placement"},
      {"session_creation_timeout_secs"},
      {"master", {"\"\"", "\"local\""}, kNoCluster},
      {"evaluation_master", {"\"\"", "\"local\""}, kNoCluster},
      {"tpu_config.iterations_per_loop"},
      {"tpu_config.num_shards"},
      {"tpu_config.num_cores_per_replica", {"1"}, kNoModelParallelism},
      {"tpu_config.experimental_host_call_every_n_steps"},
      {"tpu_config.per_host_input_for_training",
       {"PER_SHARD_V1", "PER_HOST_V1", "PER_HOST_V2", "BROADCAST"}},
      {"tpu_config.eval_training_input_configuration", {"PER_HOST_V1", "SLICED"}},
      {"tpu_config.initial_infeed_sleep_secs"},
      {"train"},
      {"evaluate"},
      {"train_and_evaluate"},
      {"training_hook"},
      {"evaluation_hook"},
      {"eval_on_tpu"},
      {"predict.input"},
      {"predict.keys"},
      {"predict.forward_features"},
      {"predict.generate"},
      {"export"},
      {"warm_start_from"},
      {"transformation_func"},
      {"strict_dtypes"},
  };
  return *kFields;
}

const std::vector<RefusedField>& RefusedFields() {
  static const auto* const kFields = new std::vector<RefusedField>{
      {"tpu_config.tpu_job_name", kNoCluster},
      {"tpu_config.input_partition_dims", kNoModelParallelism},
      {"tpu_config.experimental_allow_per_host_v2_parallel_get_next",
       "with it the machine's speed decides which core gets which rows, and a run here repeats to "
       "the last bit"},
      {"protocol", "no servers talk to each other"},
      {"experimental_max_worker_delay_secs", "there are no workers of a cluster to start"},
  };
  return *kFields;
}

bool CoversField(const std::string& of, const std::string& path) {
  return path == of || absl::StartsWith(path, of + ".");
}

}  // namespace tpurun
