// Opens a plan: finds the files and builds the pipeline.
#ifndef TPURUN_DATA_OPEN_INPUT_H_
#define TPURUN_DATA_OPEN_INPUT_H_

#include "absl/status/statusor.h"
#include "data/input_plan.h"
#include "data/transforms/transform_list.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Implements InputFn.
absl::StatusOr<InputSource> OpenPlan(const InputPlan& plan, const InputFnArgs& args);

// Returns the row transform of a step, opened. The plan gives `directory`, `ordinal` and `where` of
// the arguments.
absl::StatusOr<RowTransform> OpenRow(const InputPlan& plan, const Step& step, RowOpenArgs args);

}  // namespace tpurun

#endif  // TPURUN_DATA_OPEN_INPUT_H_
