// Parses tpu_config.iterations_per_loop: a number of steps or a time.
#ifndef TPURUN_PROTO_ITERATIONS_PER_LOOP_H_
#define TPURUN_PROTO_ITERATIONS_PER_LOOP_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace tpurun {

// Exactly one of the two is > 0.
struct IterationsPerLoop {
  int64_t steps = 0;
  int64_t seconds = 0;

  bool operator==(const IterationsPerLoop&) const = default;
};

// `text` is a positive integer without leading zeros (steps), or one followed by s, m or h
// (seconds, minutes, hours). InvalidArgument otherwise.
absl::StatusOr<IterationsPerLoop> ParseIterationsPerLoop(std::string_view text);

}  // namespace tpurun

#endif  // TPURUN_PROTO_ITERATIONS_PER_LOOP_H_
