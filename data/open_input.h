// From a plan to what reads: finds the files and builds the pipeline.
#ifndef TPURUN_DATA_OPEN_INPUT_H_
#define TPURUN_DATA_OPEN_INPUT_H_

#include "absl/status/statusor.h"
#include "data/input_plan.h"
#include "data/transforms/transform_list.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// What an InputFn does.
absl::StatusOr<InputSource> OpenPlan(const Plan& plan, const InputFnArgs& args);

// The row transform of a step, opened.
absl::StatusOr<RowTransform> OpenRow(const Plan& plan, const Step& step, ModeKey mode,
                                     const std::vector<FileHeader>& headers = {});

}  // namespace tpurun

#endif  // TPURUN_DATA_OPEN_INPUT_H_
