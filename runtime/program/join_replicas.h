// One call for the rows of several cores.
#ifndef TPURUN_RUNTIME_PROGRAM_JOIN_REPLICAS_H_
#define TPURUN_RUNTIME_PROGRAM_JOIN_REPLICAS_H_

#include "runtime/program/core_program.h"

namespace tpurun {

// A worker runs several cores. Where a phase is small, the calls of each core for itself take more
// time than their arithmetic. This gives the cores of a worker one memory for the phase
// (BufferRef::part_stride) and, where an instruction computes row by row, one call for the rows of
// all of them (Instruction::joins_rows). A phase of much work keeps two calls for each of several
// workers: a worker that is late leaves one to another.
//
// A phase stays as it is if it has an instruction that is not per core or already spans replicas,
// if the memory of its cores together is no longer small beside a cache, or if the workers cannot
// share the cores equally. An instruction is called for each core if an operand that is not divided
// by rows differs between cores, or if its kernel is a library's. No bit depends on it.
void JoinReplicas(int num_workers, CoreProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_JOIN_REPLICAS_H_
