#include "data/at_field.h"

#include "absl/strings/cord.h"
#include "proto/source_locations.h"

namespace tpurun {
namespace {

constexpr char kPayload[] = "tpurun.field";

}  // namespace

absl::Status AtField(absl::Status status, std::string_view path) {
  const std::string below = FieldOf(status).value_or("");
  status.SetPayload(kPayload, absl::Cord(FieldPath(path, below)));
  return status;
}

std::optional<std::string> FieldOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return std::nullopt;
  return std::string(*payload);
}

}  // namespace tpurun
