#include "runtime/checkpoint/best_checkpoint.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "proto/text_errors.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/io/identity.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

constexpr char kBestFile[] = "best_checkpoint.pbtxt";
constexpr uint64_t kMaxBestBytes = 16 << 20;  // of metrics that are numbers, some 200,000

FilePath BestFile(const FilePath& model_dir) {
  return model_dir.WithName(JoinPath(model_dir.name(), kBestFile));
}

// True if the metric has as many values as its dimensions say.
bool Holds(const proto::EvaluationState::Metric& metric) {
  int64_t wanted = 1;
  for (const int64_t dim : metric.dim()) {
    if (dim < 0 || (dim > 0 && wanted > metric.value_size() / dim)) return false;
    wanted *= dim;
  }
  return wanted == metric.value_size();
}

// What to do without a best checkpoint.
std::string InsteadOfBest(const std::string& model_dir) {
  const absl::StatusOr<std::optional<std::string>> latest = LatestCheckpoint(model_dir);
  const bool trained = latest.ok() && latest->has_value();
  return absl::StrCat(
      "; run train_and_evaluate, which finds it by train_and_evaluate.monitor",
      trained ? absl::StrCat(", or leave out --checkpoint to take the newest, ", **latest) : "");
}

}  // namespace

std::string EvaluationText(const proto::EvaluationState& state) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(state, &text);
  return text;
}

absl::StatusOr<proto::EvaluationState> ParseEvaluationText(const std::string& text) {
  proto::EvaluationState state;
  google::protobuf::TextFormat::Parser parser;
  FirstTextError errors;
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(text, &state)) {
    const FirstTextError::Error error = errors.error().value_or(FirstTextError::Error{});
    return absl::DataLossError(absl::StrCat(error.line, ":", error.column, ": ", error.message));
  }
  for (const proto::EvaluationState::Metric& metric : state.best_metric()) {
    if (Holds(metric)) continue;
    return absl::DataLossError(absl::StrCat("1:1: best_metric ", Quote(metric.name()), " has ",
                                            metric.value_size(),
                                            " values, which its dimensions do not fit"));
  }
  return state;
}

std::vector<std::pair<std::string, MetricValue>> BestMetrics(const proto::EvaluationState& state) {
  std::vector<std::pair<std::string, MetricValue>> metrics;
  for (const proto::EvaluationState::Metric& metric : state.best_metric()) {
    metrics.emplace_back(metric.name(),
                         MetricValue({metric.dim().begin(), metric.dim().end()},
                                     {metric.value().begin(), metric.value().end()}));
  }
  return metrics;
}

absl::StatusOr<std::optional<proto::EvaluationState>> ReadBestCheckpoint(
    const FilePath& model_dir) {
  const FilePath path = BestFile(model_dir);
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxBestBytes);
  if (!text.ok() && IsAbsent(path)) return std::optional<proto::EvaluationState>();
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<proto::EvaluationState> state = ParseEvaluationText(*text);
  if (state.ok() && state->has_best_step()) return std::optional(*std::move(state));
  return absl::DataLossError(absl::StrCat(
      path.text(), ":",
      state.ok() ? std::string("1:1: has no best_step") : std::string(state.status().message()),
      "; the next evaluation of train_and_evaluate writes it"));
}

absl::Status WriteBestCheckpoint(const FilePath& model_dir, const proto::EvaluationState& state) {
  const FilePath path = BestFile(model_dir);
  if (!state.has_best()) return IsAbsent(path) ? absl::OkStatus() : RemoveFile(path);
  std::string text;
  google::protobuf::TextFormat::PrintToString(state, &text);
  return WriteFileAtomically(path, text);
}

absl::StatusOr<std::string> CheckpointIdentity(const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::string index, ReadFile(BundleIndexPath(prefix)));
  return IdentityOf(index);
}

absl::StatusOr<std::string> BestPrefix(const std::string& model_dir,
                                       const proto::EvaluationState& state) {
  std::string prefix = CheckpointPrefix(model_dir, state.best_step());
  if (IsAbsent(BundleIndexPath(prefix))) {
    return absl::NotFoundError(
        absl::StrCat("the best checkpoint, ", prefix, ", is gone", InsteadOfBest(model_dir)));
  }
  if (!state.has_best_identity()) return prefix;  // found by a version that did not store it
  ASSIGN_OR_RETURN(const std::string identity, CheckpointIdentity(prefix));
  if (identity == state.best_identity()) return prefix;
  return absl::NotFoundError(absl::StrCat("the best checkpoint, ", prefix,
                                          ", was written again since it was evaluated",
                                          InsteadOfBest(model_dir)));
}

absl::StatusOr<std::string> FindBestCheckpoint(const std::string& model_dir) {
  ASSIGN_OR_RETURN(const std::optional<proto::EvaluationState> state,
                   ReadBestCheckpoint(model_dir));
  if (state.has_value()) return BestPrefix(model_dir, *state);
  return absl::NotFoundError(absl::StrCat("no best checkpoint in ", model_dir, ": it has no file ",
                                          kBestFile, InsteadOfBest(model_dir)));
}

}  // namespace tpurun
