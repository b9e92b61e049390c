// The trace of a profiled run in the JSON Trace Event Format, which ui.perfetto.dev and
// chrome://tracing open. Source: "Trace Event Format", the public document of the Chromium project.
#ifndef TPURUN_RUNTIME_PROFILE_TRACE_H_
#define TPURUN_RUNTIME_PROFILE_TRACE_H_

#include <string>
#include <vector>

#include "runtime/base/host_trace.h"
#include "runtime/device/run_profile.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// Three processes: "workers" with one lane for each worker, "emulated cores" with one lane for each
// core, which shows the parts that belong to it, and "host" with the lanes steps, waits of the
// device for the queues, and those of `host_spans`. The first step begins at 0; times are
// microseconds.
std::string TraceJson(const CoreProgram& program, const RunProfile& run,
                      const std::vector<HostTrace::Span>& host_spans);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_TRACE_H_
