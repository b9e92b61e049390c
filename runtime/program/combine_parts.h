// Fewer and larger parts for few workers.
#ifndef TPURUN_RUNTIME_PROGRAM_COMBINE_PARTS_H_
#define TPURUN_RUNTIME_PROGRAM_COMBINE_PARTS_H_

#include "runtime/program/core_program.h"

namespace tpurun {

// The compiler divides instructions by shapes alone, into up to 8 parts. If there are few workers,
// each has several parts of a phase. Each part is a call, and each call of a product packs the
// undivided operand again. This joins neighbouring parts. A phase of much work keeps two parts for
// each of several workers: a worker that is late leaves one to another. Any other phase keeps one,
// as does one with an instruction whose rows cost less where there are more (spans_replicas): a
// recurrence reads its weights in every step (lstm_bench in f32 on an Intel Xeon with AVX-512: 212
// examples/s with two parts for each of two workers, 240 with one). So does one that
// ReadsMostlyWeights (64 rows and 4096 x 4096 weights in f32, AVX2 and two workers: 17.7, now 14.6
// ms a product). No bit depends on it.
//
// An instruction with fewer parts than its phase keeps one for each worker. They are spread over
// the phase if their number divides that of the phase, because the first parts of a phase are all
// of the first worker. (In resnet_cifar in f32 on a Xeon limited to AVX2, one worker had the
// gradients of all kernels, and the other waited for a third of each step.)
//
// A phase is not combined if it has a per-core instruction, a kernel without KernelDef::any_share
// or a conversion of bf16, or if the workers cannot share its parts equally.
void CombineParts(int num_workers, CoreProgram& program);

// True if what every call of the phase reads whole, again from memory, has more bytes than the rows
// of all its calls: the weights of wide layers and small batches. Collectives have no weights.
bool ReadsMostlyWeights(const CoreProgram& program, const Phase& phase);

// Whether it is worth a hand-over to another worker.
bool IsMuchWork(const Cost& cost);

// The parts that a phase of this cost has for so many workers: one, or two of much work, for each.
int PartsWanted(const Cost& cost, int num_workers);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_COMBINE_PARTS_H_
