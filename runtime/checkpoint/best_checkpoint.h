// The best checkpoint of a model_dir: the file best_checkpoint.pbtxt, which train_and_evaluate
// writes after each evaluation. It is an EvaluationState in text format, of at most 16 MiB.
#ifndef TPURUN_RUNTIME_CHECKPOINT_BEST_CHECKPOINT_H_
#define TPURUN_RUNTIME_CHECKPOINT_BEST_CHECKPOINT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/evaluation_state.pb.h"
#include "runtime/io/file.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Names the best checkpoint of model_dir where a checkpoint may be named.
inline constexpr char kBestCheckpoint[] = "best";

// One line of text, for a checkpoint or a message.
std::string EvaluationText(const proto::EvaluationState& state);
// DataLoss with the mistake, "1:5: MESSAGE", if the text is not one of a state.
absl::StatusOr<proto::EvaluationState> ParseEvaluationText(const std::string& text);
// EvaluationState::best_metric, by name.
std::vector<std::pair<std::string, MetricValue>> BestMetrics(const proto::EvaluationState& state);

// The state in the file of model_dir. nullopt if there is no file. DataLoss if it is damaged.
absl::StatusOr<std::optional<proto::EvaluationState>> ReadBestCheckpoint(const FilePath& model_dir);
// Writes the file atomically, or removes it if the state has no best value.
absl::Status WriteBestCheckpoint(const FilePath& model_dir, const proto::EvaluationState& state);

// EvaluationState::best_identity of the checkpoint.
absl::StatusOr<std::string> CheckpointIdentity(const std::string& prefix);

// The prefix of the best checkpoint of `state`. NotFound, which says what to do, if its files are
// gone or hold another checkpoint than the one that was evaluated.
absl::StatusOr<std::string> BestPrefix(const std::string& model_dir,
                                       const proto::EvaluationState& state);
// The same for the file of model_dir. NotFound also if it has none.
absl::StatusOr<std::string> FindBestCheckpoint(const std::string& model_dir);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_BEST_CHECKPOINT_H_
