// Makes a Profile of what the workers of a run recorded.
#ifndef TPURUN_RUNTIME_PROFILE_ANALYZE_H_
#define TPURUN_RUNTIME_PROFILE_ANALYZE_H_

#include <vector>

#include "proto/profile.pb.h"
#include "runtime/device/run_profile.h"
#include "runtime/program/core_program.h"
#include "runtime/spec/input_times.h"

namespace tpurun {

struct AnalyzeArgs {
  const CoreProgram& program;
  const RunProfile& run;
  proto::MachinePeaks machine = {};
  // [instruction]: seconds that its first call takes alone; 0: not measured.
  std::vector<double> alone = {};
  int64_t batch_size = 0;
  int64_t examples = 0;  // of all steps, without padding; 0: full batches
  std::vector<InputTimes::Stage> input = {};
};

// Fills everything but Profile::mode and the rings of ProfileMemory. Rows are sorted by time. The
// time of an instruction that comes from several layers is divided equally among them.
proto::Profile Analyze(const AnalyzeArgs& args);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_ANALYZE_H_
