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
// pipeline. One pipeline has its own.
constexpr std::string_view kShards = " shards";

std::string PositionOfAll(const std::vector<std::string>& positions) {
  if (positions.size() == 1) return positions[0];
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

// The position of each pipeline. InvalidArgument unless there are as many.
absl::StatusOr<std::vector<std::string>> PositionOfEach(const std::string& joined, int pipelines) {
  if (pipelines == 1) return std::vector<std::string>{joined};
  std::vector<std::string> positions;
  const absl::Status damaged = absl::DataLossError("damaged input position of several pipelines");
  std::string_view rest = joined;
  const std::optional<int64_t> got = TakeNumber(kShards, &rest);
  if (!got.has_value()) return damaged;
  if (*got != pipelines) {
    return absl::InvalidArgumentError(
        absl::StrCat("a position of ", *got, " pipelines, want ", pipelines));
  }
  for (int left = pipelines; left > 0; --left) {
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

absl::Status CheckPipelines(const std::string& position, const InputDeployment& deployment) {
  const int64_t shards = NumShards(position);
  const int64_t pipelines = deployment.num_pipelines();
  if (shards == pipelines) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the saved input position is of ", shards, shards == 1 ? " pipeline" : " pipelines",
      ", this input has ", pipelines,
      ": per_host_input_for_training: PER_SHARD_V1 has one a core, BROADCAST one in all, the other "
      "forms one a host of 8 cores (tpu_config.num_shards)"));
}

// Several pipelines, in the order of the replicas that they feed. The rows of a step are those of a
// step of each pipeline.
class JoinedPipelines : public BatchSource {
 public:
  // `rows`: of a step of one pipeline.
  JoinedPipelines(std::vector<std::unique_ptr<BatchSource>> pipelines, int64_t rows,
                  const std::vector<FeatureSpec>& features)
      : pipelines_(std::move(pipelines)), rows_(rows) {
    for (const FeatureSpec& feature : features) bytes_.push_back(feature.shape.bytes() * rows);
  }

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    std::vector<std::byte*> share(buffers.begin(), buffers.end());
    int64_t rows = 0;
    for (const auto& pipeline : pipelines_) {
      ASSIGN_OR_RETURN(const int64_t got, pipeline->Next(share));
      rows += got;
      if (got < rows_) break;
      for (size_t i = 0; i < share.size(); ++i) share[i] += bytes_[i];
    }
    return rows;
  }

  void SetCancelled(bool cancelled) override {
    for (const auto& pipeline : pipelines_) pipeline->SetCancelled(cancelled);
  }

  std::string Position() const override {
    std::vector<std::string> positions;
    for (const auto& pipeline : pipelines_) positions.push_back(pipeline->Position());
    return PositionOfAll(positions);
  }

  absl::Status Restore(const std::string& position) override {
    ASSIGN_OR_RETURN(const std::vector<std::string> positions,
                     PositionOfEach(position, static_cast<int>(pipelines_.size())));
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
    const size_t pipeline = row < 0 ? 0 : static_cast<size_t>(row / rows_);
    return pipelines_[std::min(pipeline, pipelines_.size() - 1)]->Where(row % rows_);
  }

 private:
  const std::vector<std::unique_ptr<BatchSource>> pipelines_;
  const int64_t rows_;          // of a step of one pipeline
  std::vector<int64_t> bytes_;  // of each feature in as many rows
};

}  // namespace

absl::StatusOr<std::string> JoinPositions(const std::vector<std::string>& of_processes,
                                          const InputDeployment& deployment) {
  std::vector<std::string> positions;  // of the pipelines so far
  InputDeployment of = deployment;
  for (of.process = 0; of.process < of.num_processes; ++of.process) {
    ASSIGN_OR_RETURN(const std::vector<std::string> theirs,
                     PositionOfEach(of_processes[of.process], of.local_pipelines()));
    const bool shared = of.first_pipeline() < std::ssize(positions);
    if (!shared) {
      positions.insert(positions.end(), theirs.begin(), theirs.end());
    } else if (theirs[0] != positions.back()) {
      return absl::InternalError(
          absl::StrCat("processes ", of.process - 1, " and ", of.process,
                       " read the same pipeline and are at different positions"));
    }
  }
  return PositionOfAll(positions);
}

absl::StatusOr<std::string> LocalPosition(const std::string& position,
                                          const InputDeployment& deployment) {
  RETURN_IF_ERROR(CheckPipelines(position, deployment));
  ASSIGN_OR_RETURN(const std::vector<std::string> positions,
                   PositionOfEach(position, deployment.num_pipelines()));
  const auto first = positions.begin() + deployment.first_pipeline();
  return PositionOfAll({first, first + deployment.local_pipelines()});
}

InputFnArgs ArgsOfPipeline(const InputDeployment& deployment, InputFnArgs args) {
  args.batch_size = deployment.pipeline_batch_size();
  args.batches_per_step = deployment.batches_per_step();
  args.shard = {.num_shards = deployment.num_pipelines(),
                .index = deployment.first_pipeline(),
                .fed = deployment.replicas_per_pipeline() == 1 ? "core" : "host"};
  args.rows = deployment.local_rows();
  args.num_processes = deployment.num_processes;
  return args;
}

absl::StatusOr<InputSource> CallInputFn(const InputFn& input_fn, const InputDeployment& deployment,
                                        InputFnArgs args) {
  const int pipelines = deployment.num_pipelines();
  const int first = deployment.first_pipeline(), local = deployment.local_pipelines();
  args = ArgsOfPipeline(deployment, std::move(args));
  args.warn = [](const std::string& message) { LOG(WARNING) << message; };
  ASSIGN_OR_RETURN(InputSource input, input_fn(args));
  if (pipelines == 1) return input;
  const auto count = [&](const InputSource& next) {
    const bool counted = input.examples_per_epoch >= 0 && next.examples_per_epoch >= 0;
    input.examples_per_epoch = counted ? input.examples_per_epoch + next.examples_per_epoch : -1;
  };
  std::vector<std::unique_ptr<BatchSource>> batches;
  batches.push_back(std::move(input.batches));
  while (std::ssize(batches) < local) {
    args.shard.index = first + static_cast<int>(batches.size());
    ASSIGN_OR_RETURN(InputSource next, input_fn(args));
    count(next);
    batches.push_back(std::move(next.batches));
  }
  input.batches = local == 1 ? std::move(batches[0])
                             : std::make_unique<JoinedPipelines>(
                                   std::move(batches), deployment.pipeline_rows(), input.features);
  if (local == pipelines) return input;
  if (!args.count_examples) {
    input.examples_per_epoch = -1;
    return input;
  }
  // Other processes feed from these, and warn.
  args.warn = [](const std::string&) {};
  args.times = nullptr;
  for (args.shard.index = 0; args.shard.index < pipelines; ++args.shard.index) {
    if (args.shard.index >= first && args.shard.index < first + local) continue;
    ASSIGN_OR_RETURN(const InputSource theirs, input_fn(args));
    count(theirs);
  }
  return input;
}

}  // namespace tpurun
