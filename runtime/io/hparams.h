// The hyperparameters of a run, for TensorBoard's hparams dashboard. Source:
// tensorboard/plugins/hparams/{summary.py,metadata.py}.
#ifndef TPURUN_RUNTIME_IO_HPARAMS_H_
#define TPURUN_RUNTIME_IO_HPARAMS_H_

#include <string>
#include <variant>
#include <vector>

#include "proto/summary.pb.h"

namespace tpurun {

struct HParam {
  std::string name;
  std::variant<double, bool, std::string> value;
};

// Adds the start of a run with these hyperparameters. `time` is in seconds since 1970.
void AddSessionStartInfo(const std::vector<HParam>& hparams, double time,
                         tensorflow::Summary* summary);
// Adds the end of the run. `time` as above.
void AddSessionEndInfo(bool success, double time, tensorflow::Summary* summary);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_HPARAMS_H_
