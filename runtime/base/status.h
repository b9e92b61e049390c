// Error propagation, and the meaning of each status code for the user. Every error that a user, a
// file or a disk can cause is an absl::Status. Its code decides the exit code of the process
// (ExitCode below).
#ifndef TPURUN_RUNTIME_BASE_STATUS_H_
#define TPURUN_RUNTIME_BASE_STATUS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tpurun {

// Codes by what is wrong:
//   InvalidArgument     usage or configuration (exit 2)
//   Unimplemented       the compiler refuses: an op or type the TPU does not have (3)
//   ResourceExhausted   does not fit in the device's memory (4)
//   DataLoss            only the data shows it: damaged, truncated, empty, mistyped (65)
//   FailedPrecondition  whole, but of a format or version that this program does not read (65)
//   OutOfRange          training input ended before its steps (65)
//   NotFound            a named file or checkpoint does not exist or cannot be read (66)
//   PermissionDenied    cannot write: permission, full disk (74)
//   Cancelled           interrupted by a signal (75 when training saved, else 129, 130 or 143)
//   Unavailable         in use by another process: start it again later (75)
//   anything else       the run failed (1)
// The status of WarningsError, whatever its code: warnings under --strict (5).
int ExitCode(const absl::Status& status);

// One status of code `code` with all mistakes, one line of the message each. OK if there are none.
absl::Status ErrorList(const std::vector<std::string>& mistakes,
                       absl::StatusCode code = absl::StatusCode::kInvalidArgument);
// True if ErrorList made the status.
bool IsErrorList(const absl::Status& status);

// The error of a run that wants no warnings and had `count` warnings. OK if `count` is 0.
absl::Status WarningsError(int64_t count);

// The lines that a user sees of the error: the mistakes of an ErrorList, else the one message. Each
// is one line without control characters, whatever names of files and data it contains.
std::vector<std::string> ErrorLines(const absl::Status& status);

// Puts the place before the message: "PLACE: MESSAGE". For an ErrorList, before its first message.
// OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view place);

}  // namespace tpurun

#define RETURN_IF_ERROR(expr)                                  \
  do {                                                         \
    absl::Status status_macro_status = (expr);                 \
    if (!status_macro_status.ok()) return status_macro_status; \
  } while (false)

#define TPURUN_CONCAT_INNER(a, b) a##b
#define TPURUN_CONCAT(a, b) TPURUN_CONCAT_INNER(a, b)
#define TPURUN_ASSIGN_OR_RETURN(tmp, lhs, expr) \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return tmp.status();           \
  lhs = std::move(tmp).value()

// ASSIGN_OR_RETURN(const Graph graph, Parse(text));  ASSIGN_OR_RETURN(x, F());
#define ASSIGN_OR_RETURN(lhs, expr) \
  TPURUN_ASSIGN_OR_RETURN(TPURUN_CONCAT(status_macro_value_, __LINE__), lhs, expr)

#endif  // TPURUN_RUNTIME_BASE_STATUS_H_
