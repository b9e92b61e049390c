// One call for the rows of several cores.
#ifndef TPURUN_RUNTIME_PROGRAM_JOIN_REPLICAS_H_
#define TPURUN_RUNTIME_PROGRAM_JOIN_REPLICAS_H_

#include "runtime/program/core_program.h"

namespace tpurun {

// A worker runs several cores. Where the worker memory of a program is small, the calls of each
// core for itself take more time than their arithmetic. This gives the cores of a worker one memory
// for a phase (BufferRef::part_stride) and, where an instruction computes row by row, one call for
// the rows of all of them (Instruction::joins_rows). A phase of much work keeps two calls for each
// of several workers: a worker that is late leaves one to another.
//
// A phase stays as it is if it has an instruction that is not per core or already spans replicas,
// or if the workers cannot share the cores equally. An instruction of a joined phase is called for
// each core if
// - an operand that is not divided by rows differs between cores, or it draws random numbers,
// - its result lives longer than the phase, or the rows of a core do not fill lines of 64 bytes,
// - its attributes have the number of rows, or its kernel is a library's or converts bf16.
// No bit depends on it. The program can then be loaded for that number of workers alone; it has
// been verified before.
void JoinReplicas(int num_workers, CoreProgram& program);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_JOIN_REPLICAS_H_
