#include "runtime/estimator/replay.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/estimator/diagnose.h"
#include "runtime/estimator/processes.h"
#include "runtime/estimator/setup.h"
#include "runtime/session/outfeed.h"

namespace tpurun {
namespace {

// The start of a replay.
struct ReplayStart {
  int64_t step = 0;
  std::optional<std::string> input_position;  // nullopt: the start of the input
};

// Restores the variables from `checkpoint`, or to their initial values if it is empty.
absl::StatusOr<ReplayStart> GoBack(const EstimatorOptions& options, const std::string& checkpoint,
                                   const TrainInput& input, TrainProgram& program) {
  if (checkpoint.empty()) {
    RETURN_IF_ERROR(
        SetVariables(options, std::nullopt, true, program.model_variables, program.session));
    return ReplayStart{.step = input.start_step()};
  }
  ASSIGN_OR_RETURN(const Checkpoint saved, Checkpoint::Open(checkpoint));
  ASSIGN_OR_RETURN(const int64_t step, saved.GlobalStep());
  ASSIGN_OR_RETURN(RunState state, saved.ReadRunState());
  RETURN_IF_ERROR(saved.Restore(true, program.session.variables()));
  return ReplayStart{.step = step, .input_position = std::move(state.input_position)};
}

// Runs the steps after step `first` up to and including step `last`.
absl::Status RunSteps(const EstimatorOptions& options, int64_t first, int64_t last,
                      TrainProgram& program, TrainInput& input) {
  if (first == last) return absl::OkStatus();
  std::unique_ptr<Outfeed> outfeed;
  if (!program.session.program().outfeed.empty()) {
    const auto drop = [](int64_t, const std::byte*) { return absl::OkStatus(); };
    outfeed = std::make_unique<Outfeed>(program.session.program(), drop);
  }
  // Values that only outputs need are computed in the first step only.
  const RunResult result = program.session.RunLoop({.iterations = last - first,
                                                    .first_step = first,
                                                    .host_call_every_n_steps = last - first,
                                                    .fabric = options.fabric,
                                                    .interrupt = options.interrupt},
                                                   input.infeed(), outfeed.get());
  if (result.interrupted) return absl::CancelledError("interrupted");
  return result.status;
}

std::string IndicesText(const Shape& shape, int64_t element) {
  std::vector<int64_t> indices(shape.dims.size());
  for (size_t dim = indices.size(); dim-- > 0;) {
    indices[dim] = element % shape.dims[dim];
    element /= shape.dims[dim];
  }
  return absl::StrCat("[", absl::StrJoin(indices, ","), "]");
}

}  // namespace

std::string DescribeVariable(const Session& session, const NotFinite& found) {
  const Variable& variable = session.program().variables[found.variable];
  const StoredVariable& stored = *session.variables().Find(variable.name);
  const auto* values = reinterpret_cast<const float*>(stored.copy(std::max(found.core, 0)));
  std::string text =
      absl::StrCat("variable ", Quote(variable.name), " ", stored.variable().shape.ToString(),
                   " is ", NonFiniteText(values[found.element]));
  if (stored.variable().shape.rank() > 0)
    absl::StrAppend(&text, " at ", IndicesText(stored.variable().shape, found.element));
  if (found.core >= 0) absl::StrAppend(&text, " on core ", found.core);
  return text;
}

absl::StatusOr<Value> UpdateOf(const Graph& graph, const std::string& variable) {
  const int index = graph.FindVariable(variable);
  for (const Update& update : graph.updates()) {
    if (update.variable == index) return update.value;
  }
  return absl::InternalError(absl::StrCat("no step updates ", Quote(variable)));
}

absl::Status Replay(const EstimatorOptions& options, const ReplayArgs& args, TrainProgram& program,
                    TrainInput& input) {
  ReplayStart start;
  const auto go_back = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(start, GoBack(options, args.checkpoint, input, program));
    return input.Rewind(program, start.input_position, start.step, args.step);
  };
  RETURN_IF_ERROR(FirstErrorOfProcesses(options.fabric, go_back()));
  LOG(INFO) << "Running again from step " << start.step + 1 << " to step " << args.step
            << ", to find what made the weights not finite.";
  RETURN_IF_ERROR(RunSteps(options, start.step, args.step - 1, program, input));
  return input.infeed().ring().Front(options.interrupt).status();
}

}  // namespace tpurun
