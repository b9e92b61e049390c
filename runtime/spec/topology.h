// Topology: the replicas of a program and the hosts that feed them, in the terms of TPUContext.
#ifndef TPURUN_RUNTIME_SPEC_TOPOLOGY_H_
#define TPURUN_RUNTIME_SPEC_TOPOLOGY_H_

#include "proto/run_config.pb.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Every replica has its own core. The replicas share each batch in equal parts. The hosts are those
// of the emulated device, 8 cores each, whatever processes emulate them: a process has the replicas
// of several hosts, of one, or some of one host's. No result depends on the number of processes.
struct Topology {
  int num_hosts = 1;
  int num_of_replicas_per_host = 1;
  // The processes that emulate the replicas, each an equal, contiguous share, and which one this
  // is.
  int num_processes = 1;
  int process = 0;

  int num_replicas() const { return num_hosts * num_of_replicas_per_host; }
  int local_replicas() const { return num_replicas() / num_processes; }
  int first_replica() const { return process * local_replicas(); }
  // Those that this process emulates.
  ReplicaRange replicas() const { return {local_replicas(), first_replica(), num_replicas()}; }
};

// The smallest emulated device, a Cloud TPU v2-8.
inline constexpr Topology kDevice = {.num_hosts = 1, .num_of_replicas_per_host = 8};

// The topology of a run in one process: with use_tpu tpu_config.num_shards cores, or one host of 8;
// else one core.
inline Topology TopologyOf(const proto::RunConfig& run) {
  if (!run.use_tpu()) return Topology();
  Topology topology = kDevice;
  const int shards = run.tpu_config().num_shards();
  if (shards > 0) topology.num_hosts = shards / topology.num_of_replicas_per_host;
  return topology;
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
