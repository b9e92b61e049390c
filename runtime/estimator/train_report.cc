#include "runtime/estimator/train_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "proto/iterations_per_loop.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

double SecondsBetween(std::chrono::steady_clock::time_point from,
                      std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Formats `text` as a code block in Markdown.
std::string CodeBlock(const std::string& text) {
  std::string block;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    absl::StrAppend(&block, "    ", line, "\n");
  }
  return block;
}

// Formats a table in Markdown: a row for each variable, and the number of trainable values.
std::string VariablesTable(const Graph& graph) {
  std::string table = "| variable | shape | trainable | values |\n| --- | --- | --- | ---: |\n";
  int64_t total = 0;
  for (const Variable& variable : graph.variables()) {
    const int64_t values = variable.shape.num_elements();
    if (variable.trainable) total += values;
    absl::StrAppend(&table, "| ", variable.name, " | ", variable.shape.ToString(), " | ",
                    variable.trainable ? "yes" : "no", " | ", values, " |\n");
  }
  absl::StrAppend(&table, "| trainable values | | | ", total, " |\n");
  return table;
}

}  // namespace

TrainReport::TrainReport(const proto::RunConfig& config, LearningRates rates,
                         std::set<std::string> summary_tags, EventWriter* events)
    : summary_steps_(config.save_summary_steps()),
      log_steps_(config.log_step_count_steps()),
      loop_seconds_(ParseIterationsPerLoop(config.tpu_config().iterations_per_loop())
                        .value_or(IterationsPerLoop())
                        .seconds),
      batch_size_(config.train_batch_size()),
      learning_rates_(std::move(rates)),
      summary_tags_(std::move(summary_tags)),
      events_(events) {}

absl::Status TrainReport::Begin(int64_t step, const std::vector<HParam>& hparams,
                                const std::string& config_text, const Graph& graph) {
  if (events_ == nullptr) return absl::OkStatus();
  tensorflow::Summary start, summary;
  AddSessionStartInfo(hparams, WallTime(), &start);
  RETURN_IF_ERROR(events_->WriteSummary(step, start));
  AddText("run_config", CodeBlock(config_text), &summary);
  AddText("variables", VariablesTable(graph), &summary);
  return events_->WriteSummary(step, summary);
}

absl::Status TrainReport::End(int64_t step, bool success) {
  if (events_ == nullptr) return absl::OkStatus();
  tensorflow::Summary summary;
  AddSessionEndInfo(success, WallTime(), &summary);
  return events_->WriteSummary(step, summary);
}

absl::Status TrainReport::LoopDone(int64_t step, double loss, bool last) {
  const Clock::time_point now = Clock::now();
  if (events_ != nullptr && summary_steps_ > 0 && (last || Due(summary_, step, summary_steps_))) {
    RETURN_IF_ERROR(WriteLoss(step, loss));
    summary_ = {step, now};
  }
  return DueForLog(step, now) ? Log(step, loss, now) : absl::OkStatus();
}

bool TrainReport::DueForLog(int64_t step, Clock::time_point now) const {
  if (log_steps_ == 0) return false;
  if (loop_seconds_ == 0 || logged_.step < 0) return Due(logged_, step, log_steps_);
  return SecondsBetween(logged_.time, now) >= static_cast<double>(loop_seconds_);
}

absl::Status TrainReport::WriteLoss(int64_t step, double loss) {
  tensorflow::Summary summary;
  AddScalar("loss", static_cast<float>(loss), &summary);
  ASSIGN_OR_RETURN(const auto rates, learning_rates_.At(step - 1));
  for (const auto& [tag, rate] : rates) {
    if (summary_tags_.count(tag) == 0) AddScalar(tag, rate, &summary);
  }
  return events_->WriteSummary(step, summary);
}

absl::Status TrainReport::Log(int64_t step, double loss, Clock::time_point now) {
  const Mark from = logged_;
  logged_ = {step, now};
  std::string line =
      absl::StrCat("loss = ", ShortestText(static_cast<float>(loss)), ", step = ", step);
  ASSIGN_OR_RETURN(const auto rates, learning_rates_.At(step - 1));
  for (const auto& [tag, rate] : rates)
    absl::StrAppend(&line, ", ", tag, " = ", ShortestText(rate));
  if (from.step < 0) {
    LOG(INFO) << line;
    return absl::OkStatus();
  }
  const double seconds = SecondsBetween(from.time, now);
  const double steps = static_cast<double>(step - from.step) / seconds;
  const double examples = steps * static_cast<double>(batch_size_);
  LOG(INFO) << line
            << absl::StrFormat(" (%.3f sec, %.6g steps/sec, %.6g examples/sec)", seconds, steps,
                               examples);
  // Without summaries TPUEstimator logs the rates but does not write them.
  if (events_ == nullptr || summary_steps_ == 0) return absl::OkStatus();
  tensorflow::Summary summary;
  AddScalar("global_step/sec", static_cast<float>(steps), &summary);
  AddScalar("examples/sec", static_cast<float>(examples), &summary);
  return events_->WriteSummary(step, summary);
}

}  // namespace tpurun
