// Topology: the replicas of a program and the hosts that feed them, in TPUContext's words.
#ifndef TPURUN_RUNTIME_SPEC_TOPOLOGY_H_
#define TPURUN_RUNTIME_SPEC_TOPOLOGY_H_

#include "proto/run_config.pb.h"

namespace tpurun {

// Every replica has a core of its own. The replicas share each batch in equal parts.
struct Topology {
  int num_hosts = 1;  // there is no other yet
  int num_of_replicas_per_host = 1;

  int num_replicas() const { return num_hosts * num_of_replicas_per_host; }
};

// The device that is emulated, a Cloud TPU v2-8.
inline constexpr Topology kDevice = {.num_hosts = 1, .num_of_replicas_per_host = 8};

// Where a run takes place: on all of the device under use_tpu, else on one core.
inline Topology TopologyOf(const proto::RunConfig& run) {
  return run.use_tpu() ? kDevice : Topology();
}

// The same of an evaluation.
inline Topology TopologyOfEvaluation(const proto::RunConfig& run) {
  return run.eval_on_tpu() ? TopologyOf(run) : Topology();
}

// How many replicas the groups of a configuration are of, in a program of `num_replicas`: one that
// runs on one core is checked for the device, so that a configuration is right or wrong on both.
inline int GroupedReplicas(int num_replicas) {
  return num_replicas > 1 ? num_replicas : kDevice.num_replicas();
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_TOPOLOGY_H_
