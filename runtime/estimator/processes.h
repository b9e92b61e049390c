// What the verbs share that several processes run together.
#ifndef TPURUN_RUNTIME_ESTIMATOR_PROCESSES_H_
#define TPURUN_RUNTIME_ESTIMATOR_PROCESSES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/fabric/fabric.h"
#include "runtime/session/session.h"
#include "runtime/spec/spec.h"

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

// The names of Likenesses that are a RunConfig in text format: the effective one, and
// EstimatorOptions::canonical, in which vocabularies have checksums.
inline constexpr char kConfiguration[] = "configuration";
inline constexpr char kVocabularies[] = "contents of vocabularies";
// A name and a text that must be the same in all processes, such as the configuration.
using Likeness = std::pair<std::string, std::string>;
// InvalidArgument, with each difference, if a process differs from the chief.
absl::Status CheckAlike(Fabric* fabric, const std::vector<Likeness>& own);

// What the processes have opened and must have alike before the first step: the kind of machine and
// the libraries of kernels, the files of the input, and the weights.
std::vector<Likeness> LikenessesOf(const Session& session, const std::vector<InputFile>& files,
                                   const std::map<std::string, std::string>& assets);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_PROCESSES_H_
