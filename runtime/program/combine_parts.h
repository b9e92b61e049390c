// Fewer and larger parts for few workers.
#ifndef TPURUN_RUNTIME_PROGRAM_COMBINE_PARTS_H_
#define TPURUN_RUNTIME_PROGRAM_COMBINE_PARTS_H_

#include "runtime/program/core_program.h"

namespace tpurun {

// Parts depend on shapes alone, so a worker of few has several parts of a phase. Each begins a
// call, and a product packs again in each the operand that they do not divide. Combines neighbours:
// a phase of much work keeps two parts for each worker, so that a worker that is late gives one
// away, and others one. No bit depends on it. Phases with a kernel that is made for the size of a
// part (KernelDef::any_share) keep their parts, and so do those of all cores.
void CombineParts(int num_workers, CoreProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_COMBINE_PARTS_H_
