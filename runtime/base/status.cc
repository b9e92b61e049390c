#include "runtime/base/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Marks the status of an ErrorList: the line breaks in its message are ours.
constexpr char kErrorList[] = "tpurun/error_list";
// Marks that of WarningsError.
constexpr char kWarnings[] = "tpurun/warnings";

std::string OnOneLine(absl::string_view text) { return Escape({text.data(), text.size()}); }

}  // namespace

int ExitCode(const absl::Status& status) {
  if (status.GetPayload(kWarnings).has_value()) return 5;
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
    case absl::StatusCode::kFailedPrecondition:
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

absl::Status ErrorList(const std::vector<std::string>& mistakes, absl::StatusCode code) {
  if (mistakes.empty()) return absl::OkStatus();
  const auto append = [](std::string* out, const std::string& mistake) {
    out->append(Escape(mistake));
  };
  absl::Status status(code, absl::StrJoin(mistakes, "\n", append));
  status.SetPayload(kErrorList, absl::Cord());
  return status;
}

bool IsErrorList(const absl::Status& status) { return status.GetPayload(kErrorList).has_value(); }

absl::Status WarningsError(int64_t count) {
  if (count == 0) return absl::OkStatus();
  absl::Status status = absl::AbortedError(
      absl::StrCat(count, count == 1 ? " warning" : " warnings", ", and --strict wants none"));
  status.SetPayload(kWarnings, absl::Cord());
  return status;
}

std::vector<std::string> ErrorLines(const absl::Status& status) {
  if (!IsErrorList(status)) return {OnOneLine(status.message())};
  return absl::StrSplit(status.message(), '\n');
}

absl::Status Annotate(const absl::Status& status, absl::string_view place) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(OnOneLine(place), ": ", status.message()));
  status.ForEachPayload([&annotated](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace tpurun
