// Results of trainings and evaluations as the JSON objects of standard output.
#ifndef TPURUN_CLI_RESULTS_H_
#define TPURUN_CLI_RESULTS_H_

#include "cli/json.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

Json TrainResultJson(const TrainResult& result);

// With the evaluation's name first where it is one of several.
Json EvaluationJson(const Evaluation& evaluation, bool one_of_several);

}  // namespace tpurun

#endif  // TPURUN_CLI_RESULTS_H_
