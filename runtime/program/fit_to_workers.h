// The calls of a compiled program for a number of workers.
#ifndef TPURUN_RUNTIME_PROGRAM_FIT_TO_WORKERS_H_
#define TPURUN_RUNTIME_PROGRAM_FIT_TO_WORKERS_H_

#include <optional>

#include "runtime/program/core_program.h"

namespace tpurun {

// Gives a compiled program as large calls as so many workers allow. It can then be loaded for that
// number of workers alone. No bit depends on it.
void FitToWorkers(int num_workers, CoreProgram& program);

// The compiled program for one worker, if its step is so little work that it may be faster so than
// with several, and not each step has a periodic section. Its values have the same places as those
// for several workers, except in worker memory.
std::optional<CoreProgram> FitToOneWorker(const CoreProgram& compiled);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_FIT_TO_WORKERS_H_
