// The runs in a tree of directories, as TensorBoard finds them.
#ifndef TPURUN_RUNTIME_REPORT_FIND_RUNS_H_
#define TPURUN_RUNTIME_REPORT_FIND_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tpurun {

// A run: a directory with an event file.
struct RunFolder {
  std::string name;  // the path relative to the common parent of the given directories
  std::string path;
  std::vector<std::string> event_files;  // paths, in reading order
  // model_dir/eval and model_dir/eval_NAME belong to the training in model_dir: `training` is its
  // name, and `evaluation` is "eval" or "eval_NAME". For any other run `training` is its own name
  // and `evaluation` is "".
  std::string training;
  std::string evaluation;
};

// True for "eval" and "eval_NAME".
bool IsEvaluationFolder(const std::string& name);

// The folder of the training, whose run_config.pbtxt is that of its evaluations too.
std::string ModelDirOf(const RunFolder& folder);

// The runs at or below `dirs`: trainings by name, each before its evaluations. Symbolic links are
// followed, and each directory is read once. A subdirectory that cannot be listed adds a line to
// *warnings. NotFound if one of `dirs` cannot be listed or has no event file at or below it.
absl::StatusOr<std::vector<RunFolder>> FindRuns(const std::vector<std::string>& dirs,
                                                std::vector<std::string>* warnings);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_FIND_RUNS_H_
