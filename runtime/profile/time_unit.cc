#include "runtime/profile/time_unit.h"

#include <string>

#include "absl/strings/str_format.h"

namespace tpurun {

std::string TimeUnit::Text(double time) const { return absl::StrFormat("%.3f", time / seconds); }

TimeUnit TimeUnitOf(const proto::Profile& profile) {
  if (profile.step_seconds() < 1e-3) return {"us", "microseconds", 1e-6};
  return {"ms", "milliseconds", 1e-3};
}

}  // namespace tpurun
