// The intermediate values that live at the same time, by layer.
#ifndef TPURUN_RUNTIME_PROFILE_MEMORY_AT_PEAK_H_
#define TPURUN_RUNTIME_PROFILE_MEMORY_AT_PEAK_H_

#include "proto/profile.pb.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// Finds the instruction of a step at which the most bytes of the arenas hold values that a later
// instruction reads. A value lives from the instruction that writes it to the last one that reads
// it; all copies of the cores count, and one for each of `num_workers` workers. The bytes of a
// value that comes from several layers are divided equally among them.
proto::ProfileMemory MemoryAtPeak(const CoreProgram& program, int num_workers);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_MEMORY_AT_PEAK_H_
