#include "runtime/program/verify_program.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/program_text.h"
#include "runtime/program/range_map.h"
#include "runtime/program/span_replicas.h"

namespace tpurun {
namespace {

// The instructions that access a range in the current phase.
struct Access {
  // The last writer. An instruction that may follow it without a barrier may also follow all
  // earlier accesses: otherwise an earlier check has found the race.
  const Instruction* writer = nullptr;
  const Operand* written = nullptr;
  // The readers since the last writer, the first one for each partition.
  // the bool is own_rows of SamePart
  std::map<std::pair<Partition, bool>, const Instruction*> readers;
};

class Verifier {
 public:
  explicit Verifier(const CoreProgram& program) : program_(program) {}

  absl::Status Run() {
    IndexPrologue();
    RETURN_IF_ERROR(Periods());
    RETURN_IF_ERROR(Phases("prologue", program_.prologue));
    RETURN_IF_ERROR(Periodic(&PeriodicSection::before));
    RETURN_IF_ERROR(Phases("step", program_.step));
    RETURN_IF_ERROR(Periodic(&PeriodicSection::after));
    RETURN_IF_ERROR(Carried());
    if (program_.loss.space != Space::kNone) {
      RETURN_IF_ERROR(Inside(Operand{program_.loss, Shape{DType::kF32, {}}}));
    }
    if (program_.loss.space != Space::kNone &&
        (program_.loss_phase < 0 ||
         program_.loss_phase >= static_cast<int>(program_.step.size()))) {
      return absl::InternalError("the loss is computed in no phase");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Periods() {
    int64_t last = 0;
    for (const PeriodicSection& range : program_.periodic) {
      if (range.period <= last) {
        return absl::InternalError("periodic sections want 1 <= period, in ascending order");
      }
      last = range.period;
    }
    return absl::OkStatus();
  }

  absl::Status Periodic(std::vector<Phase> PeriodicSection::*phases) {
    for (const PeriodicSection& range : program_.periodic) {
      period_ = range.period;
      const absl::Status status =
          Phases(absl::StrCat("periodic period=", range.period), range.*phases);
      if (!status.ok()) return status;
    }
    period_ = 1;
    return absl::OkStatus();
  }

  absl::Status Phases(const std::string& section, const std::vector<Phase>& phases) {
    for (size_t i = 0; i < phases.size(); ++i) {
      const absl::Status status = OnePhase(phases[i]);
      if (!status.ok()) return Annotate(status, absl::StrCat("program ", section, " phase ", i));
    }
    return absl::OkStatus();
  }

  absl::Status OnePhase(const Phase& phase) {
    accesses_ = {};
    for (const Instruction& instruction : phase.instructions) {
      const OpCall call = CallOfInstruction(instruction, program_.num_replicas);
      absl::Status status = Buffers(instruction);
      if (status.ok()) status = Promises(instruction.plan, call);
      if (status.ok()) status = Reads(instruction);
      if (status.ok()) status = KeepsThePrologue(instruction);
      if (status.ok()) status = PeriodsGuardNoVariable(instruction);
      if (status.ok()) status = NoRace(instruction, call);
      if (!status.ok()) {
        return Annotate(status, Describe(instruction));
      }
      for (const Operand& result : instruction.results) Write(result);
      Accessed(instruction, call);
    }
    // Values in worker memory die with the phase.
    written_.EraseSpace(Space::kWorker);
    return absl::OkStatus();
  }

  absl::Status Buffers(const Instruction& instruction) {
    if (instruction.parts < 1 || instruction.parts > kMaxParts || instruction.rows < 0 ||
        (instruction.per_core && instruction.parts != program_.num_replicas)) {
      return absl::InternalError(absl::StrCat("cannot have ", instruction.parts, " parts"));
    }
    const bool one_part = !instruction.per_core && instruction.parts == 1;
    if (instruction.first_part < 0 || instruction.first_part >= kMaxParts ||
        (instruction.first_part > 0 && !one_part)) {
      return absl::InternalError(absl::StrCat("cannot begin at part ", instruction.first_part));
    }
    const bool steps = !instruction.per_core && instruction.parts > 1;
    if (instruction.part_step < 1 || instruction.part_step > kMaxParts ||
        instruction.end_part() > kMaxParts || (instruction.part_step > 1 && !steps)) {
      return absl::InternalError(
          absl::StrCat("cannot have its parts ", instruction.part_step, " apart"));
    }
    RETURN_IF_ERROR(ReplicasPerCall(instruction));
    for (const auto* list : {&instruction.operands, &instruction.results}) {
      for (const Operand& operand : *list) RETURN_IF_ERROR(Inside(operand));
    }
    RETURN_IF_ERROR(Operands(instruction));
    const WorkUnit unit = OpFlagsOf(CallOfInstruction(instruction, program_.num_replicas)).unit;
    if (!instruction.per_core && instruction.by_columns != (unit == WorkUnit::kColumns))
      return absl::InternalError("is cut along another dimension than its op allows");
    if (instruction.plan.scratch_bytes > 0) {
      RETURN_IF_ERROR(Inside(
          Operand{instruction.scratch, Shape{DType::kU8, {instruction.plan.scratch_bytes}}}));
    }
    return absl::OkStatus();
  }

  // Checks that the kernel's plan supports the operands that go beyond the op's definition on plain
  // f32.
  static absl::Status Promises(const KernelPlan& plan, const OpCall& call) {
    const OpFlags flags = OpFlagsOf(call);
    const auto missing = [&](const std::string& what) {
      return absl::InternalError(absl::StrCat("its kernel \"", plan.name(), "\" takes no ", what));
    };
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const Shape& operand = call.operands[i];
      const bool rounded = HasOperand(flags.rounds, static_cast<int>(i));
      if (rounded && operand.dtype == DType::kBF16 && !plan.native_bf16 && !plan.converts_bf16)
        return missing(operand.ToString());
      const bool packed = !operand.layout.plain();
      const bool liked = i < plan.best_operands.size() && plan.best_operands[i] == operand;
      if (packed && !liked) return missing(operand.ToString());
    }
    const bool bf16 = flags.rounds != 0 && call.results[0].dtype == DType::kBF16;
    return bf16 && !plan.native_bf16 && !plan.converts_bf16 ? missing(call.results[0].ToString())
                                                            : absl::OkStatus();
  }

  // Each `replicas_per_call` is a power of two, so it divides the largest one of a phase, which is
  // the number of parts that a worker interleaves.
  absl::Status ReplicasPerCall(const Instruction& instruction) {
    const int replicas_per_call = instruction.replicas_per_call;
    if (replicas_per_call == 1) return absl::OkStatus();
    const bool spans =
        instruction.op->flags.spans_replicas || IsProductOfWeights(program_, instruction);
    if (instruction.per_core && spans && replicas_per_call > 1 &&
        instruction.parts % replicas_per_call == 0 &&
        std::has_single_bit(static_cast<unsigned>(replicas_per_call))) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("cannot join ", replicas_per_call, " parts"));
  }

  // An instruction has as many operands as its op. A collective has the operand of every core for
  // each of them.
  absl::Status Operands(const Instruction& instruction) {
    const OpDef& op = *instruction.op;
    const size_t copies = CopiesPerOperand(CallOfInstruction(instruction, program_.num_replicas));
    const size_t count = instruction.operands.size() / copies;
    if (instruction.operands.size() % copies != 0 || count < static_cast<size_t>(op.min_operands) ||
        (op.max_operands >= 0 && count > static_cast<size_t>(op.max_operands))) {
      return absl::InternalError(absl::StrCat("cannot have ", instruction.operands.size(),
                                              " operands, ", copies, " copies of each"));
    }
    const int first = ReplicasRead(instruction.attrs, program_.num_replicas).first;
    for (size_t i = 0; copies > 1 && i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      Operand want = instruction.operands[i / copies * copies];
      const Space space = want.buffer.space;
      if (space == Space::kCore || space == Space::kInfeed || space == Space::kVariable)
        want.buffer.core = first + static_cast<int>(i % copies);
      if (operand == want) continue;
      return absl::InternalError(
          absl::StrCat("takes ", PrintBuffer(operand.buffer), " ", operand.shape.ToString(),
                       ", want ", PrintBuffer(want.buffer), " ", want.shape.ToString()));
    }
    return absl::OkStatus();
  }

  absl::Status Inside(const Operand& operand) {
    const BufferRef& buffer = operand.buffer;
    int64_t limit = -1;
    switch (buffer.space) {
      case Space::kShared:
        limit = program_.shared_bytes;
        break;
      case Space::kCore:
        limit = program_.core_bytes;
        break;
      case Space::kWorker:
        limit = program_.worker_bytes;
        break;
      case Space::kInfeed:
        return Fits(operand, program_.infeed);
      case Space::kOutfeed:
        return Fits(operand, program_.outfeed);
      case Space::kVariable:
        return Fits(operand, program_.variables);
      default:
        return absl::OkStatus();
    }
    if (buffer.offset < 0 || buffer.offset % 64 != 0 ||
        buffer.offset + operand.shape.bytes() > limit || buffer.core >= program_.num_replicas) {
      return absl::InternalError(absl::StrCat(PrintBuffer(buffer), " ", operand.shape.ToString(),
                                              " is unaligned or outside its arena of ", limit,
                                              " bytes"));
    }
    return absl::OkStatus();
  }

  template <typename Slots>
  absl::Status Fits(const Operand& operand, const Slots& slots) {
    const int64_t index = operand.buffer.offset;
    if (index < 0 || index >= static_cast<int64_t>(slots.size()) ||
        slots[index].shape.bytes() != operand.shape.bytes()) {
      return absl::InternalError(absl::StrCat(
          PrintBuffer(operand.buffer), " does not exist or is not ", operand.shape.ToString()));
    }
    return absl::OkStatus();
  }

  // Variables have the same value for the whole step, so a periodic section does not write them.
  absl::Status PeriodsGuardNoVariable(const Instruction& instruction) {
    for (const Operand& result : instruction.results) {
      if (period_ == 1 || result.buffer.space != Space::kVariable) continue;
      return absl::InternalError("writes a variable at some steps only");
    }
    return absl::OkStatus();
  }

  void Write(const Operand& result) {
    const Range range = RangeOf(result);
    written_.Erase(range);
    written_.Assign(range, {&result, period_});
  }

  // Every operand in an arena is exactly the last value that was written there.
  absl::Status Reads(const Instruction& instruction) {
    for (const Operand& operand : instruction.operands) {
      const Space space = operand.buffer.space;
      if (space != Space::kShared && space != Space::kCore && space != Space::kWorker) continue;
      const auto [first, last] = written_.Overlapping(RangeOf(operand));
      if (first == last) {
        return absl::InternalError(
            absl::StrCat("reads ", PrintBuffer(operand.buffer), ", which nothing has written"));
      }
      if (period_ % first->second.value.period != 0) {
        return absl::InternalError(absl::StrCat("reads ", PrintBuffer(operand.buffer),
                                                ", which is written every ",
                                                first->second.value.period, " steps only"));
      }
      const Operand& w = *first->second.value.operand;
      if (w.buffer.offset == operand.buffer.offset && w.shape.bytes() == operand.shape.bytes())
        continue;
      return absl::InternalError(absl::StrCat("reads ", PrintBuffer(operand.buffer), " ",
                                              operand.shape.ToString(), ", which holds ",
                                              w.shape.ToString(), " at ", PrintBuffer(w.buffer)));
    }
    return absl::OkStatus();
  }

  void IndexPrologue() {
    for (const Phase& phase : program_.prologue) {
      for (const Instruction& instruction : phase.instructions) {
        for (const Operand& operand : instruction.operands)
          prologue_reads_.Add(operand, instruction);
        for (const Operand& result : instruction.results) prologue_writes_.Add(result, instruction);
      }
    }
    prologue_reads_.Finish();
    prologue_writes_.Finish();
  }

  static bool Same(const Instruction& a, const Instruction& b) {
    return a.op == b.op && a.attrs == b.attrs && a.operands == b.operands && a.results == b.results;
  }

  // Values of the prologue stay valid in every step: only the same instruction may write them
  // again.
  absl::Status KeepsThePrologue(const Instruction& instruction) {
    const Instruction* overwritten = nullptr;
    for (const Operand& result : instruction.results) {
      prologue_writes_.ForEachOverlap(result, [&](const Instruction& before) {
        if (!Same(before, instruction)) overwritten = &before;
      });
    }
    if (overwritten == nullptr) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("overwrites what \"", overwritten->name, "\" wrote in the prologue"));
  }

  // A value that the prologue computes from memory that a step overwrites, for example a packed
  // variable, is computed again for the next step. This comes after the last writer of its operands
  // and after the last reader of its results.
  absl::Status Carried() {
    struct Times {
      int written = -1, read = -1, again = -1;
    };
    std::unordered_map<const Instruction*, Times> times;
    int time = 0;
    const auto look = [&](const Instruction& instruction) {
      for (const Operand& result : instruction.results) {
        prologue_reads_.ForEachOverlap(result, [&](const Instruction& made) {
          if (!Same(instruction, made)) times[&made].written = time;
        });
        prologue_writes_.ForEachOverlap(result, [&](const Instruction& made) {
          if (Same(instruction, made)) times[&made].again = time;
        });
      }
      for (const Operand& operand : instruction.operands) {
        prologue_writes_.ForEachOverlap(operand, [&](const Instruction& made) {
          if (!Same(instruction, made)) times[&made].read = time;
        });
      }
      ++time;
    };
    const auto walk = [&](const std::vector<Phase>& phases) {
      for (const Phase& phase : phases) {
        for (const Instruction& instruction : phase.instructions) look(instruction);
      }
    };
    for (const PeriodicSection& range : program_.periodic) walk(range.before);
    walk(program_.step);
    for (const PeriodicSection& range : program_.periodic) walk(range.after);
    for (const Phase& phase : program_.prologue) {
      for (const Instruction& made : phase.instructions) {
        const Times& at = times[&made];
        if (at.written < 0 || at.again > std::max(at.written, at.read)) continue;
        return absl::InternalError(absl::StrCat(
            made.op->name, " \"", made.name,
            "\" is not computed again for the next step, behind what its operands come from and "
            "what reads its results"));
      }
    }
    return absl::OkStatus();
  }

  // If the instruction writes memory that others of its phase access, or accesses memory that they
  // write, their partitions agree.
  absl::Status NoRace(const Instruction& instruction, const OpCall& call) {
    const Partition partition = PartitionOf(instruction);
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      const auto [first, last] = accesses_.Overlapping(RangeOf(operand));
      if (first == last) continue;
      const bool own = ReadsOwn(instruction, call, i);
      for (auto entry = first; entry != last; ++entry) {
        const Access& access = entry->second.value;
        if (access.writer == nullptr ||
            (SamePartOf(access.written->shape, PartitionOf(*access.writer), partition, own) &&
             SameParts(partition, *access.written, operand)))
          continue;
        return Race(*access.written, *access.writer, instruction);
      }
    }
    for (const Operand& result : instruction.results) {
      const auto [first, last] = accesses_.Overlapping(RangeOf(result));
      for (auto entry = first; entry != last; ++entry) {
        const Access& access = entry->second.value;
        for (const auto& [way, reader] : access.readers) {
          if (!SamePart(partition, way.first, way.second))
            return Race(result, instruction, *reader);
        }
        if (access.writer != nullptr && !(SamePart(PartitionOf(*access.writer), partition, true) &&
                                          SameParts(partition, *access.written, result)))
          return Race(*access.written, *access.writer, instruction);
      }
    }
    return absl::OkStatus();
  }

  // Records the accesses of an instruction without a race.
  void Accessed(const Instruction& instruction, const OpCall& call) {
    for (const Operand& result : instruction.results)
      accesses_.Assign(RangeOf(result), Access{.writer = &instruction, .written = &result});
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const std::pair way(PartitionOf(instruction), ReadsOwn(instruction, call, i));
      accesses_.Update(RangeOf(instruction.operands[i]),
                       [&](Access& access) { access.readers.emplace(way, &instruction); });
    }
  }

  // True if part p of one operand is no other bytes than part p of the other. A part of rows is of
  // the same bytes in buffers of the same size at the same place.
  static bool SameParts(const Partition& partition, const Operand& a, const Operand& b) {
    return partition.per_core || partition.parts == 1 ||
           (a.buffer == b.buffer && a.shape.bytes() == b.shape.bytes());
  }

  static bool ReadsOwn(const Instruction& reader, const OpCall& call, size_t i) {
    return ReadsOwnRows(call, static_cast<int>(i) / CopiesPerOperand(call), reader.rows);
  }

  absl::Status Race(const Operand& at, const Instruction& a, const Instruction& b) {
    return absl::InternalError(absl::StrCat("\"", a.name, "\" and \"", b.name, "\" meet at ",
                                            PrintBuffer(at.buffer),
                                            " in one phase, in different parts"));
  }

  const CoreProgram& program_;
  struct Written {
    const Operand* operand = nullptr;
    int64_t period = 1;  // period of the section that wrote the operand
  };

  int64_t period_ = 1;  // period of the current section
  RangeMap<Written> written_;
  RangeMap<Access> accesses_;
  RangeIndex prologue_reads_, prologue_writes_;
};

}  // namespace

absl::Status VerifyProgram(const CoreProgram& program) { return Verifier(program).Run(); }

}  // namespace tpurun
