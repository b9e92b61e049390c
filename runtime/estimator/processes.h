// What the verbs share that several processes run together.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PROCESSES_H_
#define TPURUN_RUNTIME_ESTIMATOR_PROCESSES_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/fabric/fabric.h"

namespace tpurun {

// All processes call these functions in the same order. `fabric` is nullptr for a process alone,
// which is its own chief.

inline bool IsChief(const Fabric* fabric) { return fabric == nullptr || fabric->is_chief(); }

// The first error of a process, in each of them. The chief tells it. Without the others, each
// process has its own error, and tells it.
absl::Status FirstErrorOfProcesses(Fabric* fabric, const absl::Status& own);
// An error that the chief tells the user, in another process.
absl::Status ToldByChief(absl::Status status);
bool IsToldByChief(const absl::Status& status);

// The checkpoint that the chief has chosen, if any, opened by each process; `own` of the others is
// not read. Its files must be on a file system that all processes share.
absl::StatusOr<std::optional<Checkpoint>> ShareCheckpoint(
    Fabric* fabric, absl::StatusOr<std::optional<Checkpoint>> own);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PROCESSES_H_
