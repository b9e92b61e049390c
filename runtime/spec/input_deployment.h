// InputDeployment: how the examples of a step come to the replicas in one mode, which is what
// TPUConfig's per_host_input_for_training and eval_training_input_configuration choose.
#ifndef TPURUN_RUNTIME_SPEC_INPUT_DEPLOYMENT_H_
#define TPURUN_RUNTIME_SPEC_INPUT_DEPLOYMENT_H_

#include <cstdint>

#include "proto/run_config.pb.h"
#include "runtime/spec/spec.h"
#include "runtime/spec/topology.h"

namespace tpurun {

struct InputDeployment {
  // PER_SHARD_V1: a pipeline a replica, for its share of the batch.
  // PER_HOST_V1, SLICED: one pipeline; its batch in contiguous shares.
  // PER_HOST_V2: one pipeline of batches of a share; one a replica, in turn.
  // BROADCAST: one pipeline; its whole batch to every replica.
  proto::TPUConfig::InputPipelineConfig form = proto::TPUConfig::PER_HOST_V1;
  int num_replicas = 1;
  int64_t batch_size = 0;  // different examples of a step: train_batch_size and the like

  bool is_broadcast() const { return form == proto::TPUConfig::BROADCAST; }
  // Rows of each infeed slot: params['batch_size'] of a model_fn.
  int64_t batch_per_replica() const { return is_broadcast() ? batch_size : share(); }
  // Of each of the num_pipelines: params['batch_size'] of an input_fn.
  int64_t pipeline_batch_size() const {
    return num_pipelines() > 1 || in_turn() ? share() : batch_size;
  }
  int num_pipelines() const { return form == proto::TPUConfig::PER_SHARD_V1 ? num_replicas : 1; }
  int64_t batches_per_step() const { return in_turn() ? num_replicas : 1; }
  // Replicas, from 0, whose results are of examples that no other has.
  int counted_replicas() const { return is_broadcast() ? 1 : num_replicas; }
  // Whether each replica gets its share.
  bool divides() const { return is_broadcast() || batch_size % num_replicas == 0; }

 private:
  int64_t share() const { return batch_size / num_replicas; }
  bool in_turn() const { return form == proto::TPUConfig::PER_HOST_V2; }
};

// "train_batch_size", the field that gives a mode's batch size.
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

// What the configuration gives a mode; 0 without.
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

// Where a mode of the configuration runs.
inline Topology TopologyOf(const proto::RunConfig& run, ModeKey mode) {
  return mode == ModeKey::kEval ? TopologyOfEvaluation(run) : TopologyOf(run);
}

// Of one replica, which has the whole batch, the forms are all the same.
inline InputDeployment DeployInput(const proto::TPUConfig& tpu, const Topology& topology,
                                   ModeKey mode, int64_t batch_size) {
  InputDeployment deployment;
  deployment.num_replicas = topology.num_replicas();
  deployment.batch_size = batch_size;
  if (topology.num_replicas() == 1) return deployment;
  deployment.form = tpu.per_host_input_for_training();
  if (mode == ModeKey::kTrain) return deployment;
  if (tpu.eval_training_input_configuration() == proto::TPUConfig::SLICED) {
    deployment.form = proto::TPUConfig::SLICED;
  } else if (deployment.form == proto::TPUConfig::PER_SHARD_V1) {
    deployment.form = proto::TPUConfig::PER_HOST_V1;  // only training has a pipeline a replica
  }
  return deployment;
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_INPUT_DEPLOYMENT_H_
