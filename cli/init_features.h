// Decides the role of one column of data, or of one feature, for `tpurun init`.
#ifndef TPURUN_CLI_INIT_FEATURES_H_
#define TPURUN_CLI_INIT_FEATURES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "cli/init_plan.h"
#include "data/init/column.h"

namespace tpurun {

// "1 word", "2 words".
std::string Plural(int64_t count, std::string_view what);
// "0.5 to 7".
std::string RangeText(const NumberStatistics& numbers);
// The divisor for normalization: `stddev`, or 1 if the values hardly differ.
float PositiveOr1(double stddev);

void LeaveOut(const std::string& why, PlannedFeature& feature);

// Decides whether a feature of one value per example is a number, a category or nothing to learn
// from.
void PlanScalar(const InspectedColumn& column, const std::string& na_value, int64_t examples,
                PlannedFeature& feature);

// Decides the kind of the label plan.label, and its classes. The label feature has its name
// already, and its dtype is the type of its values. DataLoss if nothing can be learned about it.
absl::Status PlanLabel(const InspectedColumn& column, InitPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_FEATURES_H_
