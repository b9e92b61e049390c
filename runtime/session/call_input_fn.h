// Calls an InputFn once, or once per replica if each replica has its own pipeline.
#ifndef TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_
#define TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// The arguments of the first pipeline's InputFn. `args` gives everything but batches and shards.
InputFnArgs ArgsOfPipeline(const InputDeployment& deployment, InputFnArgs args);

// The input that makes the batches of `deployment`. The fields of `args` for batches, shards
// and warnings, which are logged, are set here. Each Next fills the examples of one step, in the
// order of the replicas. An input of several pipelines ends when one pipeline has no whole batch
// left. It counts the examples of all pipelines, and its position consists of their positions.
absl::StatusOr<InputSource> CallInputFn(const InputFn& input_fn, const InputDeployment& deployment,
                                        InputFnArgs args);

// InvalidArgument if the position belongs to an input with another number of pipelines.
absl::Status CheckPipelines(const std::string& position, const InputDeployment& deployment);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_
