// The lanes of profiled steps in a trace.
#ifndef TPURUN_RUNTIME_PROFILE_TRACE_H_
#define TPURUN_RUNTIME_PROFILE_TRACE_H_

#include <vector>

#include "runtime/base/host_trace.h"
#include "runtime/device/run_profile.h"
#include "runtime/profile/trace_events.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// AddProfiledSteps uses the processes 1 to kProfiledProcesses.
inline constexpr int kProfiledProcesses = 3;

// Three processes: "workers" with one lane for each worker, "emulated cores" with one lane for each
// core, which shows the parts that belong to it, and "host" with the lanes steps, waits of the
// device for the queues, and those of `host_spans`. The first step begins at 0.
void AddProfiledSteps(const CoreProgram& program, const RunProfile& run,
                      const std::vector<HostTrace::Span>& host_spans, TraceEvents& events);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_TRACE_H_
