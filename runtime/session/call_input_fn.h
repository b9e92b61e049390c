// Calls of an InputFn: once, or once a replica where each has a pipeline of its own.
#ifndef TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_
#define TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// What the first pipeline's InputFn is called with; `args` has what is not of batches and shards.
InputFnArgs ArgsOfPipeline(const InputDeployment& deployment, InputFnArgs args);

// The input that makes the batches of `deployment`; what of `args` is about batches and shards is
// set here. Each Next of its batches fills a step's examples, in the order of the replicas. That of
// several pipelines ends with the first that has no whole batch left, and counts the examples of
// all; its position is made of theirs.
absl::StatusOr<InputSource> CallInputFn(const InputFn& input_fn, const InputDeployment& deployment,
                                        InputFnArgs args);

// InvalidArgument for the position of an input with another number of pipelines.
absl::Status CheckPipelines(const std::string& position, const InputDeployment& deployment);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_CALL_INPUT_FN_H_
