#include "runtime/base/status.h"

namespace tpurun {

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
      return 2;
    case absl::StatusCode::kUnimplemented:
      return 3;
    case absl::StatusCode::kResourceExhausted:
      return 4;
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kOutOfRange:
      return 65;
    case absl::StatusCode::kNotFound:
      return 66;
    case absl::StatusCode::kPermissionDenied:
      return 74;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnavailable:
      return 75;
    default:
      return 1;
  }
}

absl::Status Annotate(const absl::Status& status, absl::string_view place) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

}  // namespace tpurun
