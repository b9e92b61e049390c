// How an exported model makes its features of what an input reads.
#ifndef TPURUN_DATA_EXPORT_INPUT_H_
#define TPURUN_DATA_EXPORT_INPUT_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "data/input_plan.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// What an ExportInputFn does. A transform that the format has no op for is left out: what it makes
// is fed.
absl::StatusOr<ExportedInput> ExportPlan(const Plan& plan, ExportFormat format,
                                         const std::set<std::string>& features, ExportGraph& graph);

// Of the columns at the end that are ids of words. Reads vocabulary files.
absl::StatusOr<Vocabularies> VocabulariesOf(const Plan& plan);

}  // namespace tpurun

#endif  // TPURUN_DATA_EXPORT_INPUT_H_
