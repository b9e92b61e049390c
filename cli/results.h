// Results of training and evaluation as the JSON objects on standard output.
#ifndef TPURUN_CLI_RESULTS_H_
#define TPURUN_CLI_RESULTS_H_

#include "cli/json.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

Json TrainResultJson(const TrainResult& result);

// Begins with the evaluation's name if it is one of several.
Json EvaluationJson(const Evaluation& evaluation, bool one_of_several);

}  // namespace tpurun

#endif  // TPURUN_CLI_RESULTS_H_
