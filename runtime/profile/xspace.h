// The profile of some steps as an XSpace (proto/xplane.proto), which TensorBoard's profile plugin
// opens.
#ifndef TPURUN_RUNTIME_PROFILE_XSPACE_H_
#define TPURUN_RUNTIME_PROFILE_XSPACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/profile.pb.h"
#include "proto/xplane.pb.h"
#include "runtime/base/host_trace.h"
#include "runtime/device/run_profile.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// Profiled steps that one loop ran.
struct ProfiledLoop {
  const RunProfile* run = nullptr;
  int64_t first_step = 0;  // global_step after its first profiled step
};

struct XSpaceArgs {
  const CoreProgram& program;
  std::vector<ProfiledLoop> loops = {};
  std::vector<HostTrace::Span> host_spans = {};
  std::string host;  // the name of the machine
  proto::MachinePeaks peaks;
};

// A plane "/device:TPU:N" for each emulated core, with the lines "Steps", "XLA Modules" and "XLA
// Ops", and the plane "/host:CPU" with a line for each worker and each lane of the host's spans. An
// instruction that all cores share is on the cores whose share it is. The names of lines and stats
// are those that TensorFlow's converters look for (tsl/profiler/utils/xplane_schema.cc).
tensorflow::profiler::XSpace MakeXSpace(const XSpaceArgs& args);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_XSPACE_H_
