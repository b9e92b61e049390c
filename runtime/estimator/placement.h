// Describes where each part of a program runs, for the log of log_device_placement.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PLACEMENT_H_
#define TPURUN_RUNTIME_ESTIMATOR_PLACEMENT_H_

#include <string>
#include <vector>

#include "runtime/program/core_program.h"

namespace tpurun {

// "NAME: (OP): WHERE" for each variable, infeed slot, instruction (in program order) and outfeed
// slot. WHERE is "core" for a part that each core has or computes for itself, "shared" for a part
// that exists once for all cores, and "host". With one replica everything is on the host.
std::vector<std::string> PlacementOf(const CoreProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PLACEMENT_H_
