#include "runtime/estimator/eval_events.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/io/event_reader.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// Returns the summary of a file that WriteEvaluation wrote for this step. nullopt for other files.
std::optional<tensorflow::Summary> EvaluationIn(const std::string& path, int64_t global_step) {
  absl::StatusOr<std::unique_ptr<EventReader>> reader = EventReader::Open(path);
  if (!reader.ok()) return std::nullopt;
  tensorflow::Event version, event, further;
  const auto read = [&](tensorflow::Event* next) {
    const absl::StatusOr<bool> there = (*reader)->Read(next);
    return there.ok() && *there;
  };
  if (!read(&version) || !read(&event) || read(&further)) return std::nullopt;
  if (!version.has_file_version() || !event.has_summary() || event.step() != global_step) {
    return std::nullopt;
  }
  const auto& values = event.summary().value();
  const bool ours = std::any_of(values.begin(), values.end(),
                                [](const auto& value) { return value.tag() == kCheckpointPath; });
  return ours ? std::optional(event.summary()) : std::nullopt;
}

}  // namespace

absl::Status WriteEvaluation(const std::string& dir, int64_t global_step,
                             const tensorflow::Summary& summary) {
  RETURN_IF_ERROR(MakeDirectories(dir));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  std::vector<std::string> earlier;
  for (const std::string& name : names) {
    if (!IsEventFileName(name)) continue;
    const std::string path = JoinPath(dir, name);
    const std::optional<tensorflow::Summary> there = EvaluationIn(path, global_step);
    if (!there.has_value()) continue;
    if (there->SerializeAsString() == summary.SerializeAsString()) return absl::OkStatus();
    earlier.push_back(path);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<EventWriter> events, EventWriter::Open(dir));
  RETURN_IF_ERROR(events->WriteSummary(global_step, summary));
  RETURN_IF_ERROR(events->Sync());
  RETURN_IF_ERROR(events->Close());
  for (const std::string& path : earlier) RETURN_IF_ERROR(RemoveFile(path));
  return absl::OkStatus();
}

}  // namespace tpurun
