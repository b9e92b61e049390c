// A Profile as tables for a terminal.
#ifndef TPURUN_CLI_PROFILE_TEXT_H_
#define TPURUN_CLI_PROFILE_TEXT_H_

#include <ostream>

#include "proto/profile.pb.h"

namespace tpurun {

// Tables by layer, op and instruction, of the workers, the input, the critical path and the memory,
// at most 100 columns wide.
void WriteProfile(const proto::Profile& profile, std::ostream& out);

}  // namespace tpurun

#endif  // TPURUN_CLI_PROFILE_TEXT_H_
