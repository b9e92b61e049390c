#include "runtime/profile/layer_times.h"

#include <algorithm>
#include <map>

namespace tpurun {

std::vector<LayerTimes> TimesByLayer(const proto::Profile& profile) {
  std::map<std::string, LayerTimes> by_layer;
  for (const proto::ProfileRow& row : profile.layer()) {
    LayerTimes& times = by_layer[row.name()];
    times.layer = row.name();
    (row.phase() == "forward"    ? times.forward
     : row.phase() == "backward" ? times.backward
     : row.phase() == "update"   ? times.update
                                 : times.other) += row.seconds();
    times.share += row.share();
    times.flops += row.matrix_flops() + row.vector_flops() + row.transcendentals();
    times.bytes += row.bytes_read() + row.bytes_written();
  }
  std::vector<LayerTimes> sorted;
  for (const auto& [layer, times] : by_layer) sorted.push_back(times);
  std::stable_sort(sorted.begin(), sorted.end(), [](const LayerTimes& a, const LayerTimes& b) {
    return a.seconds() > b.seconds();
  });
  return sorted;
}

}  // namespace tpurun
