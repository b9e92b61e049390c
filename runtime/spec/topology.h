// Topology: the replicas of a program and the hosts that feed them, in the terms of TPUContext.
#ifndef TPURUN_RUNTIME_SPEC_TOPOLOGY_H_
#define TPURUN_RUNTIME_SPEC_TOPOLOGY_H_

#include <algorithm>
#include <iterator>

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
  // The same with no more hosts than the processes can emulate. For modes whose results depend on
  // no number of cores: evaluation and prediction.
  Topology Limited() const;
  // Those that this process emulates.
  ReplicaRange replicas() const { return {local_replicas(), first_replica(), num_replicas()}; }
};

// The smallest emulated device, a Cloud TPU v2-8.
inline constexpr Topology kDevice = {.num_hosts = 1, .num_of_replicas_per_host = 8};

// The legal values of tpu_config.num_shards: the cores of a slice of a TPU pod.
inline constexpr int kLegalShards[] = {8, 16, 32, 64, 128, 256, 512};

// The most replicas that one process emulates: an instruction has a part for each.
inline constexpr int kMaxLocalReplicas = 64;

inline Topology Topology::Limited() const {
  Topology limited = *this;
  limited.num_hosts =
      std::min(num_hosts, kMaxLocalReplicas * num_processes / num_of_replicas_per_host);
  return limited;
}

inline bool IsLegalShards(int shards) {
  return std::count(std::begin(kLegalShards), std::end(kLegalShards), shards) > 0;
}

// The device that the configuration names: tpu_config.num_shards cores, or kDevice. An illegal
// number, which the checks of the configuration report, is kDevice too.
inline Topology DeviceOf(const proto::RunConfig& run) {
  Topology device = kDevice;
  const int shards = run.tpu_config().num_shards();
  if (IsLegalShards(shards)) device.num_hosts = shards / device.num_of_replicas_per_host;
  return device;
}

// The topology of a run in one process: the device with use_tpu, else one core.
inline Topology TopologyOf(const proto::RunConfig& run) {
  return run.use_tpu() ? DeviceOf(run) : Topology();
}

// The topology of an evaluation.
inline Topology TopologyOfEvaluation(const proto::RunConfig& run) {
  return run.eval_on_tpu() ? TopologyOf(run) : Topology();
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_TOPOLOGY_H_
