// What `tpurun init` takes one column of data, or one feature, for.
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
// What values are divided by: 1 where they hardly differ.
float PositiveOr1(double stddev);

void LeaveOut(const std::string& why, PlannedFeature& feature);

// Decides what a feature of one value an example is: a number, a category or nothing to learn from.
void PlanScalar(const InspectedColumn& column, const std::string& na_value, int64_t examples,
                PlannedFeature& feature);

// Decides what plan.label is, and the classes. It has its name; dtype is that of its values.
// DataLoss when nothing can be learned of it.
absl::Status PlanLabel(const InspectedColumn& column, InitPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_CLI_INIT_FEATURES_H_
