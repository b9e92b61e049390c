// Calls of more replicas for few workers.
#ifndef TPURUN_RUNTIME_PROGRAM_SPAN_REPLICAS_H_
#define TPURUN_RUNTIME_PROGRAM_SPAN_REPLICAS_H_

#include <cstdint>

#include "runtime/program/core_program.h"

namespace tpurun {

// The compiler gives a call of an op that spans replicas few of them, for any number of workers, by
// shapes alone. With few workers this gives it all replicas of a worker, up to 64 rows, if the
// kernel computes any share of the rows (KernelDef::any_share) and the weights have more than
// `cached_bytes`: a recurrence then reads them from the L3 cache in every step, for all rows of the
// call (the recurrences of lstm_bench, 4 MB of weights, with AVX2 on two workers: 574, now 524 ms
// of a step). Weights of up to 2 MB stay in the L2 cache beside the states of 16 rows, and leave it
// beside those of 32 (with AMX and both CPUs busy: 119 ms, with larger calls 139). No bit depends
// on it. After JoinReplicas; a joined phase stays as it is.
//
// In a phase that ReadsMostlyWeights (combine_parts.h) products do so, too, whose kernels can
// (KernelDef::spans_replicas): 8 cores with 8 rows each and 4096 x 4096 weights, AVX2 and two
// workers, 24, now 15 ms each.
void SpanReplicas(int num_workers, CoreProgram& program, int64_t cached_bytes = 2 << 20);

// A product of rows and of weights that all cores share: the calls of its kernel may span replicas.
bool IsProductOfWeights(const CoreProgram& program, const Instruction& instruction);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_SPAN_REPLICAS_H_
