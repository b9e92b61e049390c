// The processes of a run as threads of this process, with the delays of a network between them.
#ifndef TPURUN_RUNTIME_FABRIC_SIMULATED_FABRIC_H_
#define TPURUN_RUNTIME_FABRIC_SIMULATED_FABRIC_H_

#include <memory>
#include <vector>

#include "runtime/fabric/fabric.h"
#include "runtime/fabric/rounds.h"

namespace tpurun {

// As MakeThreadFabrics. An exchange ends no earlier than link.Seconds after both processes have
// begun it. Each process has a link of its own, and no other process shares it. The thread sleeps
// meanwhile, so that others have its CPU.
std::vector<std::unique_ptr<Fabric>> MakeSimulatedFabrics(int size, const Link& link);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_FABRIC_SIMULATED_FABRIC_H_
