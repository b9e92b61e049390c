// Adds the part of an input that computes features to an exported model.
#ifndef TPURUN_DATA_EXPORT_INPUT_H_
#define TPURUN_DATA_EXPORT_INPUT_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "data/input_plan.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Implements ExportInputFn. A transform that the format has no op for is left out; the columns that
// it would make are then inputs of the exported model.
absl::StatusOr<ExportedInput> ExportPlan(const InputPlan& plan, ExportFormat format,
                                         const std::set<std::string>& features, ExportGraph& graph);

}  // namespace tpurun

#endif  // TPURUN_DATA_EXPORT_INPUT_H_
