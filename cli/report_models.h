#ifndef TPURUN_CLI_REPORT_MODELS_H_
#define TPURUN_CLI_REPORT_MODELS_H_

#include "runtime/report/report.h"

namespace tpurun {

// Adds the layers of the models that the trainings of the report have, each model once, with the
// trainings that have it. They are those of run_config.pbtxt in their folders. A training without
// that file, or with one that makes no model here, has none; the reason is a warning.
void AddModels(Report& report);

}  // namespace tpurun

#endif  // TPURUN_CLI_REPORT_MODELS_H_
