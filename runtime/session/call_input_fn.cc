#include "runtime/session/call_input_fn.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The format of the position of several pipelines: "8 shards", then " LENGTH POSITION" for each
// pipeline.
constexpr std::string_view kShards = " shards";

std::string JoinPositions(const std::vector<std::string>& positions) {
  std::string joined = absl::StrCat(positions.size(), ToAbsl(kShards));
  for (const std::string& position : positions) {
    absl::StrAppend(&joined, " ", position.size(), " ", position);
  }
  return joined;
}

// Removes a number and the `end` after it from the start of *text and returns the number. nullopt
// if there is none.
std::optional<int64_t> TakeNumber(std::string_view end, std::string_view* text) {
  const size_t digits = text->find(end);
  if (digits == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> number = ParseInt64(text->substr(0, digits));
  if (!number.has_value() || *number < 0) return std::nullopt;
  text->remove_prefix(digits + end.size());
  return number;
}

// Returns the number of pipelines of a position.
int64_t NumShards(std::string_view position) { return TakeNumber(kShards, &position).value_or(1); }

absl::StatusOr<std::vector<std::string>> SplitPositions(std::string_view joined) {
  std::vector<std::string> positions;
  const absl::Status damaged = absl::DataLossError("damaged input position of several pipelines");
  std::string_view rest = joined;
  for (int64_t left = TakeNumber(kShards, &rest).value_or(0); left > 0; --left) {
    if (rest.empty() || rest[0] != ' ') return damaged;
    rest.remove_prefix(1);
    const std::optional<int64_t> size = TakeNumber(" ", &rest);
    if (!size.has_value() || *size > std::ssize(rest)) return damaged;
    positions.emplace_back(rest.substr(0, *size));
    rest.remove_prefix(*size);
  }
  if (!rest.empty()) return damaged;
  return positions;
}

// One pipeline for each replica. The batch of a step consists of one batch from each pipeline, in
// the order of the replicas.
class PipelinePerReplica : public BatchSource {
 public:
  PipelinePerReplica(std::vector<std::unique_ptr<BatchSource>> pipelines, int64_t batch_size,
                     const std::vector<FeatureSpec>& features)
      : pipelines_(std::move(pipelines)), batch_size_(batch_size) {
    for (const FeatureSpec& feature : features) {
      batch_bytes_.push_back(feature.shape.bytes() * batch_size);
    }
  }

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    std::vector<std::byte*> share(buffers.begin(), buffers.end());
    int64_t rows = 0;
    for (const auto& pipeline : pipelines_) {
      ASSIGN_OR_RETURN(const int64_t got, pipeline->Next(share));
      rows += got;
      if (got < batch_size_) break;
      for (size_t i = 0; i < share.size(); ++i) share[i] += batch_bytes_[i];
    }
    return rows;
  }

  void SetCancelled(bool cancelled) override {
    for (const auto& pipeline : pipelines_) pipeline->SetCancelled(cancelled);
  }

  std::string Position() const override {
    std::vector<std::string> positions;
    for (const auto& pipeline : pipelines_) positions.push_back(pipeline->Position());
    return JoinPositions(positions);
  }

  absl::Status Restore(const std::string& position) override {
    ASSIGN_OR_RETURN(const std::vector<std::string> positions, SplitPositions(position));
    if (positions.size() != pipelines_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a position of ", positions.size(), " pipelines, want ", pipelines_.size()));
    }
    std::vector<std::string> before;
    for (size_t i = 0; i < positions.size(); ++i) {
      before.push_back(pipelines_[i]->Position());
      const absl::Status restored = pipelines_[i]->Restore(positions[i]);
      if (restored.ok()) continue;
      for (size_t j = 0; j < i; ++j) RETURN_IF_ERROR(pipelines_[j]->Restore(before[j]));
      return restored;
    }
    return absl::OkStatus();
  }

  std::string Where(int64_t row) const override {
    const size_t pipeline = row < 0 ? 0 : static_cast<size_t>(row / batch_size_);
    return pipelines_[std::min(pipeline, pipelines_.size() - 1)]->Where(row % batch_size_);
  }

 private:
  const std::vector<std::unique_ptr<BatchSource>> pipelines_;
  const int64_t batch_size_;          // rows of one pipeline's batch
  std::vector<int64_t> batch_bytes_;  // bytes of each feature in such a batch
};

}  // namespace

absl::Status CheckPipelines(const std::string& position, const InputDeployment& deployment) {
  const int64_t shards = NumShards(position);
  const int64_t pipelines = deployment.num_pipelines();
  if (shards == pipelines) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the saved input position is of ", shards, shards == 1 ? " pipeline" : " pipelines",
      ", this input has ", pipelines,
      ": per_host_input_for_training: PER_SHARD_V1 has one a core, the other forms one in all"));
}

InputFnArgs ArgsOfPipeline(const InputDeployment& deployment, InputFnArgs args) {
  args.batch_size = deployment.pipeline_batch_size();
  args.batches_per_step = deployment.batches_per_step();
  args.shard = {.num_shards = deployment.num_pipelines(), .index = 0};
  return args;
}

absl::StatusOr<InputSource> CallInputFn(const InputFn& input_fn, const InputDeployment& deployment,
                                        InputFnArgs args) {
  const int pipelines = deployment.num_pipelines();
  args = ArgsOfPipeline(deployment, std::move(args));
  args.warn = [](const std::string& message) { LOG(WARNING) << message; };
  ASSIGN_OR_RETURN(InputSource input, input_fn(args));
  if (pipelines == 1) return input;
  std::vector<std::unique_ptr<BatchSource>> batches;
  batches.push_back(std::move(input.batches));
  while (std::ssize(batches) < pipelines) {
    ++args.shard.index;
    ASSIGN_OR_RETURN(InputSource next, input_fn(args));
    const bool counted = input.examples_per_epoch >= 0 && next.examples_per_epoch >= 0;
    input.examples_per_epoch = counted ? input.examples_per_epoch + next.examples_per_epoch : -1;
    batches.push_back(std::move(next.batches));
  }
  input.batches =
      std::make_unique<PipelinePerReplica>(std::move(batches), args.batch_size, input.features);
  return input;
}

}  // namespace tpurun
