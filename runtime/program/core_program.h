// CoreProgram: what a device loads. Flat instructions over byte offsets, in phases between
// barriers. Its text parses back (program_text.h); the verifier (verify_program.h) checks it.
#ifndef TPURUN_RUNTIME_PROGRAM_CORE_PROGRAM_H_
#define TPURUN_RUNTIME_PROGRAM_CORE_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ir/graph.h"

namespace tpurun {

// The most parts of an instruction.
inline constexpr int kMaxParts = 64;

// Where a value lives.
enum class Space : uint8_t {
  kNone,       // a result that nobody reads
  kShared,     // one arena for all cores; a buffer is overwritten only in a phase after its last
               // reader's, or element-wise in the same part
  kCore,       // an arena a core; lives across barriers
  kWorker,     // an arena a worker and core beside others; dies inside a phase, reused by the
               // worker's next core
  kInfeed,     // `offset` is a slot; a core's share of the step's batch
  kOutfeed,    // `offset` is a slot; a core's share of the entry
  kVariable,   // `offset` is an index into CoreProgram::variables
  kLoopIndex,  // s32[]
  kReplicaId,  // s32[]
};

struct BufferRef {
  Space space = Space::kNone;
  int64_t offset = 0;  // bytes, a multiple of 64, or an index
  int core = -1;       // kCore and per-core variables: of which core; -1: of the one that runs
  bool operator==(const BufferRef&) const = default;
};

struct Operand {
  BufferRef buffer;
  Shape shape;
  bool operator==(const Operand&) const = default;
};

// Per core: 8 parts, part c being core c's whole; `replicas_per_call` consecutive parts are one
// call. Shared: the examples, the entries of the leading dimension, or those of the last, cut in
// `parts` equal shares (part p: from rows * p / parts), decided by shapes alone.
struct Instruction {
  std::string name;  // of the node it computes
  const OpDef* op = nullptr;
  Attrs attrs;
  KernelPlan plan;
  std::vector<Operand> operands;  // CopiesPerOperand(call) of each, see OpCall
  std::vector<Operand> results;
  BufferRef scratch;  // kWorker, when plan.scratch_bytes > 0
  bool per_core = false;
  int parts = 1;
  int64_t rows = 1;           // what is cut; 1 when it is not
  bool by_columns = false;    // the last dimension is (WorkUnit::kColumns)
  int replicas_per_call = 1;  // parts that are one call, those behind p, a multiple of it; per core
};

// How an instruction is cut: the five fields above.
struct Partition {
  bool per_core = false;
  int parts = 1;
  int64_t rows = 1;
  bool by_columns = false;
  int replicas_per_call = 1;
  auto operator<=>(const Partition&) const = default;
};
inline Partition PartitionOf(const Instruction& i) {
  return Partition{i.per_core, i.parts, i.rows, i.by_columns, i.replicas_per_call};
}
// Of one core, or of a part, as its kernel sees it.
void SetPartition(const Partition& partition, OpCall& call);

// The kernel's view of an instruction. All its results but those in kNone are needed.
OpCall CallOfInstruction(const Instruction& instruction, int num_replicas);

// Whether part p of `reader` touches only those bytes of an operand that part p of `writer` writes,
// in whichever order the two run. Then they need no barrier between them. `own_rows`: each part of
// the reader reads only its own rows of the operand (ReadsOwnRows).
bool SamePart(const Partition& writer, const Partition& reader, bool own_rows);

// Whether row i of result 0 depends on no row of operand `operand` but row i; where each of `rows`
// examples is several rows, on none but the rows of the same example.
bool ReadsOwnRows(const OpCall& call, int operand, int64_t rows);

// Instructions in order; part p of each runs in that order on one worker, which runs as many parts
// side by side as an instruction joins. The phase ends when all parts have ended.
struct Phase {
  std::vector<Instruction> instructions;
  int replicas_per_call() const {
    int most = 1;
    for (const Instruction& instruction : instructions)
      most = std::max(most, instruction.replicas_per_call);
    return most;
  }
  int parts() const {
    int most = 0;
    for (const Instruction& instruction : instructions) most = std::max(most, instruction.parts);
    return most;
  }
};

// What a program joins anywhere.
struct Interleaving {
  int replicas_per_call = 1;  // the most parts of a call
  int parts = 1;              // the most of the phases that join some
};
// The parts that one worker interleaves when an instruction spans `replicas_per_call` replicas:
// `replicas_per_call`, or fewer if workers would be idle otherwise. The workers of one call then
// rendezvous before it.
int InterleavedParts(int replicas_per_call, const Interleaving& interleaving, int num_workers);

// What runs only at the steps whose number `period` divides: before the step's own phases, while
// its variables are those of its start, and after them.
struct PeriodicSection {
  int64_t period = 1;
  std::vector<Phase> before, after;
};

struct OutfeedSlot {
  std::string name;
  Shape shape;         // one replica's
  int64_t period = 1;  // written at the steps whose number it divides
};

struct CoreProgram {
  std::string name;
  int num_replicas = 1;
  std::string machine;  // Machine::ToString() of the one it was compiled for
  std::string library;  // kernel libraries and their versions
  std::vector<Variable> variables;
  std::vector<InfeedSlot> infeed;
  std::vector<OutfeedSlot> outfeed;
  int64_t shared_bytes = 0;
  int64_t core_bytes = 0;
  int64_t worker_bytes = 0;
  // Once a Run, while the variables' version is unchanged: constants and what follows from them and
  // from variables that the program never updates.
  std::vector<Phase> prologue;
  std::vector<Phase> step;
  // In ascending order of `period`, no two alike. One may read what another writes whose `period`
  // divides its own.
  std::vector<PeriodicSection> periodic;
  Interleaving interleaving() const;

  // The loss of each core, f32[], checked for NaN and infinity after phase `loss_phase`, before any
  // variable is updated. kNone: there is no loss.
  BufferRef loss;
  int loss_phase = 0;
};

// Bytes of one step of the infeed, of one entry of the outfeed, and where a slot starts in it. A
// slot holds every replica's share, replica after replica; slots start at multiples of 64.
struct SlotLayout {
  std::vector<int64_t> offsets;        // of each slot
  std::vector<int64_t> replica_bytes;  // of one replica's share
  int64_t bytes = 0;
};
SlotLayout LayoutOf(const std::vector<InfeedSlot>& slots, int num_replicas);
SlotLayout LayoutOf(const std::vector<OutfeedSlot>& slots, int num_replicas);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_CORE_PROGRAM_H_
