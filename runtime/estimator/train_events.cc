#include "runtime/estimator/train_events.h"

#include <set>
#include <string>

#include "runtime/base/status.h"
#include "runtime/estimator/setup.h"

namespace tpurun {

TrainEvents::TrainEvents(const EstimatorOptions& options, const TrainProgram& program)
    : options_(options), program_(program) {
  if (program.session.program().outfeed.empty()) return;
  summaries_ =
      std::make_unique<TrainSummaries>(program.summaries, program.graph, program.session.program(),
                                       DeploymentOf(options, ModeKey::kTrain).counted_replicas());
}

absl::Status TrainEvents::Open(const Directory& dir) {
  ASSIGN_OR_RETURN(writer_, EventWriter::Open(dir));
  std::set<std::string> summary_tags;
  for (const TrainSummary& summary : program_.summaries) summary_tags.insert(summary.tag);
  report_ = std::make_unique<TrainReport>(options_.config, program_.learning_rates, summary_tags,
                                          writer_.get());
  return absl::OkStatus();
}

absl::Status TrainEvents::Begin(const Directory& dir, int64_t start_step) {
  RETURN_IF_ERROR(writer_->WriteSessionStart(start_step + 1));
  if (summaries_ != nullptr) {
    RETURN_IF_ERROR(summaries_->Open(dir, start_step, writer_.get()));
  }
  RETURN_IF_ERROR(report_->Begin(start_step, options_.train.hparams, options_.train.config_text,
                                 program_.graph));
  return writer_->Flush();
}

}  // namespace tpurun
