// InputDeployment: how the examples of a step are distributed to the replicas in one mode.
// TPUConfig's per_host_input_for_training and eval_training_input_configuration choose it.
#ifndef TPURUN_RUNTIME_SPEC_INPUT_DEPLOYMENT_H_
#define TPURUN_RUNTIME_SPEC_INPUT_DEPLOYMENT_H_

#include <algorithm>
#include <cstdint>

#include "proto/run_config.pb.h"
#include "runtime/spec/spec.h"
#include "runtime/spec/topology.h"

namespace tpurun {

// Each pipeline feeds an equal, contiguous part of the replicas. Which pipelines there are and what
// they read depends on the emulated hosts alone. A process opens the pipelines that feed its
// replicas, and of a pipeline that feeds replicas of several processes it loads its own rows.
struct InputDeployment {
  // PER_SHARD_V1: one pipeline per replica, for its share of the batch.
  // PER_HOST_V1: one pipeline per host, whose batch is split into contiguous shares.
  // PER_HOST_V2: one pipeline per host with batches of the size of a share, dealt to the replicas
  // of the host in turn. SLICED: one pipeline, whose batch is split into contiguous shares.
  // BROADCAST: one pipeline, whose whole batch goes to every replica.
  proto::TPUConfig::InputPipelineConfig form = proto::TPUConfig::PER_HOST_V1;
  int num_replicas = 1;
  int64_t batch_size = 0;  // different examples per step: train_batch_size and the like
  int num_hosts = 1;       // that have pipelines of their own; evaluation and prediction: 1
  int num_processes = 1, process = 0;  // as in Topology

  bool is_broadcast() const { return form == proto::TPUConfig::BROADCAST; }
  // Rows of each infeed slot. It is params['batch_size'] of a model_fn.
  int64_t batch_per_replica() const { return is_broadcast() ? batch_size : share(); }
  // The batch size of each of the num_pipelines() pipelines. It is params['batch_size'] of an
  // input_fn.
  int64_t pipeline_batch_size() const { return in_turn() ? share() : pipeline_rows(); }
  int64_t batches_per_step() const { return in_turn() ? replicas_per_pipeline() : 1; }
  // Rows of a step that come from one pipeline.
  int64_t pipeline_rows() const { return batch_size / num_pipelines(); }
  int num_pipelines() const {
    if (form == proto::TPUConfig::PER_SHARD_V1) return num_replicas;
    const bool per_host = form == proto::TPUConfig::PER_HOST_V1 || in_turn();
    return per_host ? num_hosts : 1;
  }
  int replicas_per_pipeline() const { return num_replicas / num_pipelines(); }
  // Number of replicas, counted from 0, whose results are of examples that no other replica has.
  int counted_replicas() const { return is_broadcast() ? 1 : num_replicas; }
  // True if the batch can be divided equally among the replicas.
  bool divides() const { return is_broadcast() || batch_size % num_replicas == 0; }

  // The replicas of this process and the pipelines that feed them.
  int local_replicas() const { return num_replicas / num_processes; }
  int first_replica() const { return process * local_replicas(); }
  int first_pipeline() const { return first_replica() / replicas_per_pipeline(); }
  int local_pipelines() const { return std::max(1, local_replicas() / replicas_per_pipeline()); }
  // Rows of a step that come from the pipelines of this process, loaded here or elsewhere.
  int64_t local_pipeline_rows() const { return local_pipelines() * pipeline_rows(); }
  // Which of these rows the replicas of this process get: all, or those of a part of the replicas
  // that one pipeline feeds.
  RowRange local_rows() const {
    if (is_broadcast() || local_replicas() % replicas_per_pipeline() == 0) return {};
    return {.begin = first_replica() % replicas_per_pipeline() * share(),
            .count = local_replicas() * share()};
  }

 private:
  int64_t share() const { return batch_size / num_replicas; }
  bool in_turn() const { return form == proto::TPUConfig::PER_HOST_V2; }
};

// The name of the field that gives the batch size of a mode: "train_batch_size".
inline const char* BatchSizeName(ModeKey mode) {
  switch (mode) {
    case ModeKey::kTrain:
      return "train_batch_size";
    case ModeKey::kEval:
      return "eval_batch_size";
    case ModeKey::kPredict:
      return "predict_batch_size";
  }
  return "";
}

// The batch size in the configuration for a mode, or 0 if there is none.
inline int64_t BatchSizeOf(const proto::RunConfig& config, ModeKey mode) {
  switch (mode) {
    case ModeKey::kTrain:
      return config.train_batch_size();
    case ModeKey::kEval:
      return config.eval_batch_size();
    case ModeKey::kPredict:
      return config.predict_batch_size();
  }
  return 0;
}

// The topology that a mode of the configuration runs on.
inline Topology TopologyOf(const proto::RunConfig& run, ModeKey mode) {
  return mode == ModeKey::kEval ? TopologyOfEvaluation(run) : TopologyOf(run);
}

// With one replica, which gets the whole batch, all forms are the same.
inline InputDeployment DeployInput(const proto::TPUConfig& tpu, const Topology& topology,
                                   ModeKey mode, int64_t batch_size) {
  InputDeployment deployment;
  deployment.num_replicas = topology.num_replicas();
  deployment.batch_size = batch_size;
  deployment.num_processes = topology.num_processes;
  deployment.process = topology.process;
  if (topology.num_replicas() == 1) return deployment;
  deployment.form = tpu.per_host_input_for_training();
  if (mode == ModeKey::kTrain) {
    deployment.num_hosts = topology.num_hosts;
    return deployment;
  }
  if (tpu.eval_training_input_configuration() == proto::TPUConfig::SLICED) {
    deployment.form = proto::TPUConfig::SLICED;
  } else if (deployment.form == proto::TPUConfig::PER_SHARD_V1) {
    deployment.form = proto::TPUConfig::PER_HOST_V1;  // only training has one pipeline per replica
  }
  return deployment;
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_INPUT_DEPLOYMENT_H_
