// Topology: the replicas of a program and the hosts that feed them, in the terms of TPUContext.
#ifndef TPURUN_RUNTIME_SPEC_TOPOLOGY_H_
#define TPURUN_RUNTIME_SPEC_TOPOLOGY_H_

#include "proto/run_config.pb.h"

namespace tpurun {

// Every replica has its own core. The replicas share each batch in equal parts.
struct Topology {
  int num_hosts = 1;  // only 1 is supported
  int num_of_replicas_per_host = 1;

  int num_replicas() const { return num_hosts * num_of_replicas_per_host; }
};

// The emulated device, a Cloud TPU v2-8.
inline constexpr Topology kDevice = {.num_hosts = 1, .num_of_replicas_per_host = 8};

// The topology of a run: the whole device with use_tpu, else one core.
inline Topology TopologyOf(const proto::RunConfig& run) {
  return run.use_tpu() ? kDevice : Topology();
}

// The topology of an evaluation.
inline Topology TopologyOfEvaluation(const proto::RunConfig& run) {
  return run.eval_on_tpu() ? TopologyOf(run) : Topology();
}

// The number of replicas that the groups of a configuration must cover, in a program of
// `num_replicas` replicas. A program on one core is checked as if on the device, so that a
// configuration is right or wrong on both.
inline int GroupedReplicas(int num_replicas) {
  return num_replicas > 1 ? num_replicas : kDevice.num_replicas();
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_TOPOLOGY_H_
