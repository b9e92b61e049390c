// What the processor and its memory reach at most, measured.
#ifndef TPURUN_RUNTIME_PROFILE_MACHINE_PEAKS_H_
#define TPURUN_RUNTIME_PROFILE_MACHINE_PEAKS_H_

#include "proto/profile.pb.h"

namespace tpurun {

// Measures for about 0.3 s with `num_threads` threads at once, each pinned to a CPU if there are
// enough. Leaves `name` empty. If other processes use the CPUs, the result is too low.
proto::MachinePeaks MeasurePeaks(int num_threads);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_MACHINE_PEAKS_H_
