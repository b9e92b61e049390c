#include "runtime/estimator/train_checkpoints.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/best_checkpoint.h"
#include "runtime/checkpoint/drift.h"
#include "runtime/estimator/input_files.h"

namespace tpurun {
TrainCheckpoints::TrainCheckpoints(const EstimatorOptions& options, TrainPeers& peers,
                                   TrainStart& start, const TrainProgram& program,
                                   const TrainInput& input)
    : peers_(peers),
      start_(start),
      program_(program),
      input_(input),
      cadence_(options.config),
      canonical_text_(CanonicalText(options.canonical)) {}

absl::Status TrainCheckpoints::CheckUnlisted() const {
  if (!enabled()) return absl::OkStatus();
  return start_.saver.CheckUnlisted(start_.dir, start_.step, input_.final_step());
}

absl::Status TrainCheckpoints::Save(int64_t step) {
  ASSIGN_OR_RETURN(const TrainedState trained, peers_.Collect(step, program_, input_));
  const absl::Status moved = start_.dir.CheckPath();
  const RunState state = {.input_position = trained.input_position,
                          .machine = program_.session.machine(),
                          .model = canonical_text_,
                          .evaluation = EvaluationText(start_.evaluations),
                          .input_files = IdentitiesOf(input_.files()),
                          .assets = start_.assets};
  const proto::EvaluationState& evaluations = start_.evaluations;
  std::set<std::string> kept;
  const auto keep = [&](int64_t of) {
    kept.insert(CheckpointPrefix(start_.saver.model_dir(), of));
  };
  if (evaluations.has_best_step()) keep(evaluations.best_step());
  if (evaluations.has_pending_step()) keep(evaluations.pending_step());
  start_.saver.Keep(std::move(kept));
  const absl::Status saved = start_.saver.Save(start_.dir, trained.variables, state, step);
  if (!moved.ok()) {
    const std::string kept = saved.ok() ? absl::StrCat("; step ", step, " is saved there") : "";
    return absl::PermissionDeniedError(absl::StrCat(moved.message(), kept));
  }
  RETURN_IF_ERROR(saved);
  LOG(INFO) << "Saving checkpoints for " << step << " into " << latest() << ".";
  cadence_.Saved(step);
  return absl::OkStatus();
}

}  // namespace tpurun
