// Where everything of a program runs, as the log of log_device_placement has it.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PLACEMENT_H_
#define TPURUN_RUNTIME_ESTIMATOR_PLACEMENT_H_

#include <string>
#include <vector>

#include "runtime/program/core_program.h"

namespace tpurun {

// "NAME: (OP): WHERE" of each variable, infeed slot, instruction in the order of the program, and
// outfeed slot. WHERE is "core" for what each core has or does for itself, "shared" for what is
// once for all cores, and "host"; with one replica all is on the host.
std::vector<std::string> PlacementOf(const CoreProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PLACEMENT_H_
