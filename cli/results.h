// Results of training and evaluation as the JSON objects on standard output.
#ifndef TPURUN_CLI_RESULTS_H_
#define TPURUN_CLI_RESULTS_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/json.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

// An object of the metrics: numbers, or nested lists.
Json MetricsJson(const std::vector<std::pair<std::string, MetricValue>>& metrics);

Json TrainResultJson(const TrainResult& result);

// Begins with the evaluation's name if it is one of several.
Json EvaluationJson(const Evaluation& evaluation, bool one_of_several);

}  // namespace tpurun

#endif  // TPURUN_CLI_RESULTS_H_
