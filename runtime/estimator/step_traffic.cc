#include "runtime/estimator/step_traffic.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "runtime/base/status.h"
#include "runtime/compiler/compile.h"
#include "runtime/device/exchanges.h"
#include "runtime/device/step_votes.h"
#include "runtime/estimator/setup.h"

namespace tpurun {
namespace {

// A sum over groups of replicas is a gather, too: its name tells it from the rows of a table.
std::string TrafficOf(const Instruction& exchange) {
  const bool of_update = std::any_of(
      exchange.origins.begin(), exchange.origins.end(),
      [](const NodeOrigin& origin) { return origin.phase == NodeOrigin::Phase::kUpdate; });
  if (!of_update) return kStatisticsTraffic;
  const bool sum = exchange.op->flags.exchange == Exchange::kSum ||
                   absl::StrContains(exchange.name, "CrossReplicaSum");
  return sum ? kGradientTraffic : kRowTraffic;
}

}  // namespace

absl::StatusOr<std::vector<StepCollective>> CollectivesOfStep(const EstimatorOptions& options,
                                                              const Graph& graph) {
  ASSIGN_OR_RETURN(const CoreProgram program, Compile(graph, MakeCompileOptions(options)));
  std::vector<StepCollective> collectives;
  for (const Phase& phase : program.step) {
    for (const ExchangeCall& call : ExchangeCalls(phase))
      collectives.push_back({TrafficOf(*call.exchanges[0]), call.collective});
  }
  for (const int64_t bytes : {kBadLossBytes, kVoteBytes})
    collectives.push_back({kVoteTraffic, {Collective::Kind::kGather, bytes}});
  return collectives;
}

}  // namespace tpurun
