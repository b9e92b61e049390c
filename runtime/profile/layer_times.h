// The rows of a Profile, layer by layer.
#ifndef TPURUN_RUNTIME_PROFILE_LAYER_TIMES_H_
#define TPURUN_RUNTIME_PROFILE_LAYER_TIMES_H_

#include <string>
#include <vector>

#include "proto/profile.pb.h"

namespace tpurun {

// Of one step, summed over the workers.
struct LayerTimes {
  std::string layer;
  double forward = 0, backward = 0, update = 0, other = 0;  // seconds; other: input and output
  double share = 0;                                         // of the time of all workers, 0 to 1
  double flops = 0, bytes = 0;

  double seconds() const { return forward + backward + update + other; }
};

// The layer that takes most time first.
std::vector<LayerTimes> TimesByLayer(const proto::Profile& profile);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_LAYER_TIMES_H_
