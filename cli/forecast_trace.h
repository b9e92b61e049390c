// The forecast of a step on a Cloud TPU as lanes of a trace.
#ifndef TPURUN_CLI_FORECAST_TRACE_H_
#define TPURUN_CLI_FORECAST_TRACE_H_

#include "cli/check_model.h"
#include "runtime/profile/trace_events.h"

namespace tpurun {

// A process "forecast v3-8" with one step of one core, which begins at 0: the step, its
// computations, what each unit of the core is busy with, the infeed of the next batch, and a
// counter of the HBM in use. A unit begins with its computation.
void AddForecast(const ModelCheck& check, int process, TraceEvents& events);

}  // namespace tpurun

#endif  // TPURUN_CLI_FORECAST_TRACE_H_
