// What the processes of a training send each other in a step, and the forecast of the step's time,
// for `summary`.
#ifndef TPURUN_CLI_SUMMARY_TRAFFIC_H_
#define TPURUN_CLI_SUMMARY_TRAFFIC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "runtime/estimator/step_traffic.h"
#include "runtime/fabric/rounds.h"

namespace tpurun {

// The flags of `summary` for several processes.
struct TrafficFlags {
  int processes = 1;                   // --processes; 1: not given
  std::optional<double> step_seconds;  // --step_seconds
  std::vector<Link> links;             // of which the time is forecast, with step_seconds
};
absl::StatusOr<TrafficFlags> ReadTrafficFlags(const CommandLine& command);

// The rows of kind "traffic": of the process that sends most, by what it sends, and in all.
std::vector<Json> TrafficRows(const std::vector<StepCollective>& collectives, int processes);

// The rows of kind "forecast": for each link, 1, 2, 4 ... processes.
std::vector<Json> ForecastRows(const std::vector<StepCollective>& collectives,
                               const TrafficFlags& flags);

// Both as text. Nothing if there are no rows.
void WriteTrafficText(const std::vector<Json>& traffic, const std::vector<Json>& forecast,
                      RowWriter& rows);

}  // namespace tpurun

#endif  // TPURUN_CLI_SUMMARY_TRAFFIC_H_
