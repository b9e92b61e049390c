// The runs in a tree of directories, as TensorBoard finds them.
#ifndef TPURUN_RUNTIME_REPORT_FIND_RUNS_H_
#define TPURUN_RUNTIME_REPORT_FIND_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tpurun {

// A directory with an event file.
struct RunFolder {
  std::string name;  // the path below the common parent of the directories that were given
  std::string path;
  std::vector<std::string> event_files;  // paths, in the order in which they are read
  // model_dir/eval and model_dir/eval_NAME belong to the training in model_dir: its name, and
  // "eval" or "eval_NAME". Of any other run its own name, and "".
  std::string training;
  std::string evaluation;
};

// The runs at or below `dirs`: trainings by name, each before its evaluations. Symbolic links are
// followed, each directory is read once. A directory below that cannot be listed adds a line to
// *warnings. NotFound when one of `dirs` cannot be listed or has no event file at or below it.
absl::StatusOr<std::vector<RunFolder>> FindRuns(const std::vector<std::string>& dirs,
                                                std::vector<std::string>* warnings);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_FIND_RUNS_H_
