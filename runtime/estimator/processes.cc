#include "runtime/estimator/processes.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr char kToldByChief[] = "tpurun/told_by_chief";

}  // namespace

absl::Status ToldByChief(absl::Status status) {
  if (!status.ok()) status.SetPayload(kToldByChief, absl::Cord());
  return status;
}

bool IsToldByChief(const absl::Status& status) {
  return status.GetPayload(kToldByChief).has_value();
}

absl::Status FirstErrorOfProcesses(Fabric* fabric, const absl::Status& own) {
  if (fabric == nullptr) return own;
  const absl::Status first = fabric->FirstError(own);
  return fabric->is_chief() || fabric->lost() ? first : ToldByChief(first);
}

absl::StatusOr<std::optional<Checkpoint>> ShareCheckpoint(
    Fabric* fabric, absl::StatusOr<std::optional<Checkpoint>> own) {
  if (fabric == nullptr) return own;
  const bool chief = fabric->is_chief();
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, chief ? own.status() : absl::OkStatus()));
  ASSIGN_OR_RETURN(const std::string prefix,
                   fabric->BroadcastText(chief && own->has_value() ? (**own).prefix() : ""));
  absl::Status read;
  if (!chief) {
    own = std::optional<Checkpoint>();
    if (!prefix.empty()) {
      absl::StatusOr<Checkpoint> opened = Checkpoint::Open(prefix);
      read = Annotate(opened.status(),
                      "the checkpoint that the chief has chosen, which must be on a file system "
                      "that all processes share");
      if (opened.ok()) own = std::optional<Checkpoint>(*std::move(opened));
    }
  }
  RETURN_IF_ERROR(FirstErrorOfProcesses(fabric, read));
  return own;
}

}  // namespace tpurun
