// Whether lower or higher values of a metric are better, by its name.
#ifndef TPURUN_RUNTIME_BASE_METRIC_MODE_H_
#define TPURUN_RUNTIME_BASE_METRIC_MODE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace tpurun {

// Whether lower or higher values of a metric are better, as in proto::Monitor.
enum class MetricMode : uint8_t { kMin, kMax };

// "MIN" or "MAX".
const char* ModeText(MetricMode mode);
// The mode of that name, in any case. nullopt for other names.
std::optional<MetricMode> ParseMode(const std::string& name);
// The mode of a metric whose name tells it: MAX for accuracy, auc, precision, recall and the like
// and for rates (examples/sec), MIN for losses and errors. nullopt for other names.
std::optional<MetricMode> ModeOfTag(const std::string& tag);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_METRIC_MODE_H_
