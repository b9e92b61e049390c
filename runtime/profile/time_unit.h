// The unit in which the times of a Profile are written.
#ifndef TPURUN_RUNTIME_PROFILE_TIME_UNIT_H_
#define TPURUN_RUNTIME_PROFILE_TIME_UNIT_H_

#include <string>

#include "proto/profile.pb.h"

namespace tpurun {

struct TimeUnit {
  const char* symbol;  // "ms"
  const char* plural;  // "milliseconds"
  double seconds;      // of one

  // A number with three decimals, without the unit.
  std::string Text(double time) const;
};

// Milliseconds; microseconds, if a step takes less than one millisecond.
TimeUnit TimeUnitOf(const proto::Profile& profile);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_TIME_UNIT_H_
