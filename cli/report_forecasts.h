// `report --accelerator_type`: what a Cloud TPU would make of each training of a report.
#ifndef TPURUN_CLI_REPORT_FORECASTS_H_
#define TPURUN_CLI_REPORT_FORECASTS_H_

#include "runtime/report/report.h"
#include "runtime/tpu/accelerator.h"

namespace tpurun {

// Adds a forecast to each training with a run_config.pbtxt, as `check --model_dir` makes it, and a
// warning if there is none. A training that cannot be checked has the reason in its forecast.
void AddForecasts(const Accelerator& accelerator, Report& report);

}  // namespace tpurun

#endif  // TPURUN_CLI_REPORT_FORECASTS_H_
