// Calls an InputFn once for each pipeline of this process. The position of an input in several
// processes.
#ifndef TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_
#define TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The arguments of the InputFn of this process's first pipeline. `args` gives everything but
// batches, shards, rows and processes.
InputFnArgs ArgsOfPipeline(const InputDeployment& deployment, InputFnArgs args);

// The input of this process's replicas. The fields of `args` for batches, shards, rows,
// processes and warnings, which are logged, are set here. Each Next fills the examples of one step,
// in the order of the replicas, and returns the number of rows of its pipelines, those that other
// processes load too. An input of several pipelines ends when one pipeline has no whole batch left;
// a process does not notice the end of a pipeline that feeds only others. The examples of all
// pipelines, those of other processes too, are counted if args.count_examples says so or all are of
// this process; else examples_per_epoch is -1.
absl::StatusOr<InputSource> CallInputFn(const InputFn& input_fn, const InputDeployment& deployment,
                                        InputFnArgs args);

// The position of all pipelines, as one process that has them all would return it, from the
// positions of all processes' inputs in the order of the processes. Internal if processes that
// share a pipeline are at different positions.
absl::StatusOr<std::string> JoinPositions(const std::vector<std::string>& of_processes,
                                          const InputDeployment& deployment);

// The position of this process's pipelines, for Restore, out of a position of all pipelines, which
// any number of processes may have written. InvalidArgument if it belongs to an input with another
// number of pipelines. DataLoss if it is damaged.
absl::StatusOr<std::string> LocalPosition(const std::string& position,
                                          const InputDeployment& deployment);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_
