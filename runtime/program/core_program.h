// CoreProgram: the compiled program that a device loads. It is a flat list of instructions over
// byte offsets, in phases that follow each other. Its text form parses back (program_text.h). The
// verifier checks it (verify_program.h).
#ifndef TPURUN_RUNTIME_PROGRAM_CORE_PROGRAM_H_
#define TPURUN_RUNTIME_PROGRAM_CORE_PROGRAM_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ir/graph.h"

namespace tpurun {

// The maximum number of parts of an instruction.
inline constexpr int kMaxParts = 64;

// The memory of a value.
enum class Space : uint8_t {
  kNone,  // a result that nobody reads
  // One arena for all cores. A buffer is overwritten only in a phase after its last reader's, or by
  // each part for itself: in the same bytes and by the part that used them.
  kShared,
  kCore,  // one arena per core; values live across phases
  // One arena per worker and interleaved core. Values die inside a phase. The worker's next core
  // reuses the arena.
  kWorker,
  kInfeed,     // `offset` is a slot; a core's share of the batch of the step
  kOutfeed,    // `offset` is a slot; a core's share of the outfeed entry
  kVariable,   // `offset` is an index into CoreProgram::variables
  kLoopIndex,  // s32[]
  kReplicaId,  // s32[]
};

struct BufferRef {
  Space space = Space::kNone;
  int64_t offset = 0;  // in bytes, a multiple of 64; or an index
  int core = -1;  // for kCore and per-core variables: the core; -1: the core that runs the part
  // kWorker in a joined phase (join_replicas.h): bytes from the value of a part to that of the
  // next. 0: every interleaved part has an arena of its own.
  int64_t part_stride = 0;
  bool operator==(const BufferRef&) const = default;
};

struct Operand {
  BufferRef buffer;
  Shape shape;
  bool operator==(const Operand&) const = default;
};

// Per core: num_replicas parts. Part c computes all values of core c. `replicas_per_call`
// consecutive parts are one call. Shared: the examples, the entries of the leading dimension or
// those of the last dimension (WorkUnit) are divided into `parts` equal shares (part p starts at
// rows * p / parts). The compiler divides by shapes alone; combine_parts.h may join neighbours for
// few workers.
struct Instruction {
  std::string name;  // of the computed node
  Origins origins;   // of the computed node
  const OpDef* op = nullptr;
  Attrs attrs;
  KernelPlan plan;
  std::vector<Operand> operands;  // CopiesPerOperand(call) of each operand, see OpCall
  std::vector<Operand> results;
  BufferRef scratch;  // kWorker, if plan.scratch_bytes > 0
  bool per_core = false;
  int parts = 1;
  int64_t rows = 1;         // entries that the parts divide; 1 if unpartitioned
  bool by_columns = false;  // the parts divide the last dimension (WorkUnit::kColumns)
  // Consecutive parts of one call, a power of 2; the first part is a multiple of this number. Per
  // core only.
  int replicas_per_call = 1;
  // The shapes have the rows of all replicas of a call, one after another: one pointer per operand
  // and result, and OpCall::replicas_per_call is 1 (join_replicas.h).
  bool joins_rows = false;
  // Its part p is part first_part + p * part_step of its phase. first_part is not 0 only if the
  // instruction is shared and has one part, part_step not 1 only if it is shared and has several.
  int first_part = 0;
  int part_step = 1;

  // Behind its last part in the phase.
  int end_part() const { return first_part + (parts - 1) * part_step + 1; }
};

// For messages: `matmul "dense/MatMul" of dense (forward)`.
std::string Describe(const Instruction& instruction);

// How an instruction is partitioned: the last fields of Instruction, and whether it is an
// exchange (OpFlags::exchange).
struct Partition {
  bool per_core = false;
  int parts = 1;
  int64_t rows = 1;
  bool by_columns = false;
  int replicas_per_call = 1;
  int first_part = 0;
  int part_step = 1;
  bool exchange = false;
  auto operator<=>(const Partition&) const = default;
};
Partition PartitionOf(const Instruction& instruction);
// Sets the fields of the call of one core, or of a part, that its kernel sees.
void SetPartition(const Partition& partition, OpCall& call);

// The kernel's view of an instruction. All results except those in kNone are needed.
OpCall CallOfInstruction(const Instruction& instruction, int num_replicas);

// The cost of all parts of an instruction, with the copies of its kernel.
Cost CostOfInstruction(const Instruction& instruction, int num_replicas);

// True if part p of `reader` uses only bytes of an operand that part p of `writer` writes, for
// either order of the two. They may then be in one phase. `own_rows`: each part of the
// reader reads only its own rows of the operand (ReadsOwnRows). False for an exchange, which runs
// beside all parts.
bool SamePart(const Partition& writer, const Partition& reader, bool own_rows);
// The same for a result of `writer` with the shape `written`, whose rows may be others than those
// of the reader: examples, where the reader has groups of them. Part p of both is the same bytes if
// parts are equal shares of the rows. They stay so when parts are combined (HasEqualParts).
bool SamePartOf(const Shape& written, const Partition& writer, const Partition& reader,
                bool own_rows);
// True if combine_parts.h joins such parts evenly, as many for each new one: a power of 2.
inline bool HasEqualParts(int parts) { return parts > 0 && (parts & (parts - 1)) == 0; }

// True if row i of result 0 depends only on row i of operand `operand`. If each of `rows` examples
// has several rows: only on the rows of the same example.
bool ReadsOwnRows(const OpCall& call, int operand, int64_t rows);

// Instructions in order. One worker runs part p of each instruction in that order. It interleaves
// InterleavedParts parts. The phase ends when all parts have ended.
struct Phase {
  std::vector<Instruction> instructions;
  int replicas_per_call() const {
    int most = 1;
    for (const Instruction& instruction : instructions)
      most = std::max(most, instruction.replicas_per_call);
    return most;
  }
  // A power of 2 if it has unpartitioned instructions in several parts: half of the parts are then
  // about half of their work.
  int parts() const {
    int most = 0;
    bool spread = false;
    for (const Instruction& instruction : instructions) {
      most = std::max(most, instruction.end_part());
      spread = spread || instruction.first_part > 0;
    }
    return spread ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(most))) : most;
  }
  // The parts of a worker have one memory (BufferRef::part_stride).
  bool joined() const {
    return std::any_of(instructions.begin(), instructions.end(),
                       [](const Instruction& instruction) { return instruction.joins_rows; });
  }
};

// The largest numbers of interleaved parts in a program.
struct Interleaving {
  int replicas_per_call = 1;  // the maximum over all calls
  int parts = 1;              // the maximum over the phases with replicas_per_call > 1
};
// The parts that one worker interleaves when an instruction spans `replicas_per_call` replicas:
// `replicas_per_call`, or fewer if workers would be idle otherwise. The workers of one call then
// rendezvous before it.
int InterleavedParts(int replicas_per_call, const Interleaving& interleaving, int num_workers);

// Phases that run only at the steps whose number is a multiple of `period`. `before` runs before
// the step's own phases, with the variables of the step's start; `after` runs after them.
struct PeriodicSection {
  int64_t period = 1;
  std::vector<Phase> before, after;
};

struct OutfeedSlot {
  std::string name;
  Shape shape;         // of one replica
  int64_t period = 1;  // written at the steps whose number is a multiple of `period`
};

struct CoreProgram {
  std::string name;
  int num_replicas = 1;   // of this program
  int first_replica = 0;  // the number of its first one among all replicas of the run
  int all_replicas = 1;   // of the run, if other processes have some of them; else not used
  // The replicas of an outfeed entry: processes give each other their shares.
  int outfeed_replicas() const { return std::max(num_replicas, all_replicas); }
  std::string machine;  // Machine::ToString() of the machine it was compiled for
  std::string library;  // the kernel libraries and their versions
  std::vector<Variable> variables;
  std::vector<InfeedSlot> infeed;
  std::vector<OutfeedSlot> outfeed;
  int64_t shared_bytes = 0;
  int64_t core_bytes = 0;
  int64_t worker_bytes = 0;
  // Runs before the first step of a Run, unless RunArgs::variables_version is that of the Run
  // before. It computes constants, values that depend only on them and on variables that the
  // program never updates, and the first loop-carried values.
  std::vector<Phase> prologue;
  std::vector<Phase> step;
  // In ascending order of `period`, all different. A section may read a value that another section
  // writes if its `period` is a multiple of the other's.
  std::vector<PeriodicSection> periodic;
  // All phases: of the prologue, of the step, then of each periodic section, before and after.
  std::vector<const Phase*> Phases() const;
  std::vector<Phase*> Phases();
  Interleaving interleaving() const;
  // True for the same value, and the same bytes, for all cores.
  bool IsShared(const BufferRef& buffer) const;
  // All instructions: of the prologue, of the step, then of each periodic section.
  std::vector<const Instruction*> Instructions() const;

  // The loss of each core, f32[]. The device checks it for NaN and infinity after phase
  // `loss_phase`, before any variable is updated. kNone: there is no loss.
  BufferRef loss;
  int loss_phase = 0;
};

// The layout of one step of the infeed or of one outfeed entry, in bytes. A slot holds the share of
// each replica in replica order. Slots start at multiples of 64 bytes.
struct SlotLayout {
  std::vector<int64_t> offsets;        // [slot]
  std::vector<int64_t> replica_bytes;  // [slot]: the share of one replica
  int64_t bytes = 0;
};
SlotLayout LayoutOf(const std::vector<InfeedSlot>& slots, int num_replicas);
SlotLayout LayoutOf(const std::vector<OutfeedSlot>& slots, int num_replicas);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_CORE_PROGRAM_H_
