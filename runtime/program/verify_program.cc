#include "runtime/program/verify_program.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/program_text.h"

namespace tpurun {
namespace {

bool Overlap(const Operand& a, const Operand& b) {
  const BufferRef &x = a.buffer, &y = b.buffer;
  if (x.space != y.space) return false;
  if (x.space == Space::kVariable || x.space == Space::kOutfeed) return x.offset == y.offset;
  if (x.space != Space::kShared && x.space != Space::kCore && x.space != Space::kWorker)
    return false;
  return x.offset < y.offset + b.shape.bytes() && y.offset < x.offset + a.shape.bytes();
}

class Verifier {
 public:
  explicit Verifier(const CoreProgram& program) : program_(program) {}

  absl::Status Run() {
    RETURN_IF_ERROR(Phases("prologue", program_.prologue));
    RETURN_IF_ERROR(Phases("step", program_.step));
    for (const GuardedRange& range : program_.guarded) {
      if (range.every < 1 || range.offset < 0 || range.offset >= range.every) {
        return absl::InternalError("a guarded range wants 0 <= offset < every");
      }
      RETURN_IF_ERROR(Phases("guarded", range.phases));
    }
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
  absl::Status Phases(const std::string& section, const std::vector<Phase>& phases) {
    for (size_t i = 0; i < phases.size(); ++i) {
      const absl::Status status = OnePhase(phases[i]);
      if (!status.ok()) return Annotate(status, absl::StrCat("program ", section, " phase ", i));
    }
    return absl::OkStatus();
  }

  absl::Status OnePhase(const Phase& phase) {
    for (size_t i = 0; i < phase.instructions.size(); ++i) {
      const Instruction& instruction = phase.instructions[i];
      absl::Status status = Buffers(instruction);
      if (status.ok()) status = Reads(phase, i);
      if (status.ok()) status = KeepsThePrologue(instruction);
      for (size_t j = 0; status.ok() && j < i; ++j)
        status = NoRace(phase.instructions[j], instruction);
      if (!status.ok()) {
        return Annotate(status, absl::StrCat(instruction.op->name, " \"", instruction.name, "\""));
      }
      for (const Operand& result : instruction.results) Written(result);
    }
    // What workers wrote for themselves dies with the phase.
    std::erase_if(written_, [](const Operand& w) { return w.buffer.space == Space::kWorker; });
    return absl::OkStatus();
  }

  absl::Status Buffers(const Instruction& instruction) {
    if (instruction.parts < 1 || instruction.parts > kMaxParts || instruction.rows < 0 ||
        (instruction.per_core && instruction.parts != program_.num_replicas)) {
      return absl::InternalError(absl::StrCat("cannot have ", instruction.parts, " parts"));
    }
    for (const auto* list : {&instruction.operands, &instruction.results}) {
      for (const Operand& operand : *list) RETURN_IF_ERROR(Inside(operand));
    }
    RETURN_IF_ERROR(Operands(instruction));
    const WorkUnit unit = FlagsOf(CallOf(instruction, program_.num_replicas)).unit;
    if (!instruction.per_core && instruction.by_columns != (unit == WorkUnit::kColumns))
      return absl::InternalError("is cut along another dimension than its op allows");
    if (instruction.plan.scratch_bytes > 0) {
      RETURN_IF_ERROR(Inside(
          Operand{instruction.scratch, Shape{DType::kU8, {instruction.plan.scratch_bytes}}}));
    }
    return absl::OkStatus();
  }

  // An instruction has as many operands as its op, a collective each of them of every core.
  absl::Status Operands(const Instruction& instruction) {
    const OpDef& op = *instruction.op;
    const size_t copies = CopiesPerOperand(CallOf(instruction, program_.num_replicas));
    const size_t count = instruction.operands.size() / copies;
    if (instruction.operands.size() % copies != 0 || count < static_cast<size_t>(op.min_operands) ||
        (op.max_operands >= 0 && count > static_cast<size_t>(op.max_operands))) {
      return absl::InternalError(absl::StrCat("cannot have ", instruction.operands.size(),
                                              " operands, ", copies, " copies of each"));
    }
    for (size_t i = 0; copies > 1 && i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      Operand want = instruction.operands[i / copies * copies];
      const Space space = want.buffer.space;
      if (space == Space::kCore || space == Space::kInfeed || space == Space::kVariable)
        want.buffer.core = static_cast<int>(i % copies);
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

  void Written(const Operand& result) {
    std::erase_if(written_, [&](const Operand& w) { return Overlap(w, result); });
    written_.push_back(result);
  }

  // Every operand in an arena is exactly what was last written there.
  absl::Status Reads(const Phase& phase, size_t index) {
    for (const Operand& operand : phase.instructions[index].operands) {
      const Space space = operand.buffer.space;
      if (space != Space::kShared && space != Space::kCore && space != Space::kWorker) continue;
      bool found = false;
      for (const Operand& w : written_) {
        if (!Overlap(w, operand)) continue;
        if (w.buffer.offset != operand.buffer.offset || w.shape.bytes() != operand.shape.bytes()) {
          return absl::InternalError(
              absl::StrCat("reads ", PrintBuffer(operand.buffer), " ", operand.shape.ToString(),
                           ", which holds ", w.shape.ToString(), " at ", PrintBuffer(w.buffer)));
        }
        found = true;
      }
      if (!found) {
        return absl::InternalError(
            absl::StrCat("reads ", PrintBuffer(operand.buffer), ", which nothing has written"));
      }
    }
    return absl::OkStatus();
  }

  static bool Same(const Instruction& a, const Instruction& b) {
    return a.op == b.op && a.attrs == b.attrs && a.operands == b.operands && a.results == b.results;
  }

  static bool AnyOverlap(const std::vector<Operand>& some, const std::vector<Operand>& others) {
    for (const Operand& a : some) {
      for (const Operand& b : others) {
        if (Overlap(a, b)) return true;
      }
    }
    return false;
  }

  // What the prologue wrote is there in every step: only the same instruction writes it again.
  absl::Status KeepsThePrologue(const Instruction& instruction) {
    for (const Phase& phase : program_.prologue) {
      for (const Instruction& before : phase.instructions) {
        if (Same(before, instruction) || !AnyOverlap(before.results, instruction.results)) continue;
        return absl::InternalError(
            absl::StrCat("overwrites what \"", before.name, "\" wrote in the prologue"));
      }
    }
    return absl::OkStatus();
  }

  // What the prologue computed of what a step overwrites (a pack, of a variable) is computed again
  // for the next step: behind the last writer of its operands and behind the last reader of its
  // results.
  absl::Status Carried() {
    for (const Phase& prologue : program_.prologue) {
      for (const Instruction& made : prologue.instructions) {
        int written = -1, read = -1, again = -1, time = 0;
        const auto walk = [&](const std::vector<Phase>& phases) {
          for (const Phase& phase : phases) {
            for (const Instruction& instruction : phase.instructions) {
              if (Same(instruction, made)) {
                again = time;
              } else {
                if (AnyOverlap(instruction.results, made.operands)) written = time;
                if (AnyOverlap(instruction.operands, made.results)) read = time;
              }
              ++time;
            }
          }
        };
        walk(program_.step);
        for (const GuardedRange& range : program_.guarded) walk(range.phases);
        if (written < 0 || again > std::max(written, read)) continue;
        return absl::InternalError(absl::StrCat(
            made.op->name, " \"", made.name,
            "\" is not computed again for the next step, behind what its operands come from and "
            "what reads its results"));
      }
    }
    return absl::OkStatus();
  }

  // `first` and `second` run in one phase: where one writes what the other touches, their parts
  // agree.
  absl::Status NoRace(const Instruction& first, const Instruction& second) {
    RETURN_IF_ERROR(NoRaceWithReads(first, second));
    RETURN_IF_ERROR(NoRaceWithReads(second, first));
    for (const Operand& a : first.results) {
      for (const Operand& b : second.results) {
        if (Overlap(a, b) && !SamePart(CutOf(first), CutOf(second), true))
          return Race(a, first, second);
      }
    }
    return absl::OkStatus();
  }

  absl::Status NoRaceWithReads(const Instruction& writer, const Instruction& reader) {
    for (size_t i = 0; i < reader.operands.size(); ++i) {
      for (const Operand& result : writer.results) {
        if (!Overlap(result, reader.operands[i])) continue;
        const OpCall call = CallOf(reader, program_.num_replicas);
        const int operand = static_cast<int>(i) / CopiesPerOperand(call);
        const bool own = ReadsOwnRows(call, operand, reader.rows);
        if (!SamePart(CutOf(writer), CutOf(reader), own)) return Race(result, writer, reader);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Race(const Operand& at, const Instruction& a, const Instruction& b) {
    return absl::InternalError(absl::StrCat("\"", a.name, "\" and \"", b.name, "\" meet at ",
                                            PrintBuffer(at.buffer),
                                            " in one phase, in different parts"));
  }

  const CoreProgram& program_;
  std::vector<Operand> written_;
};

}  // namespace

absl::Status VerifyProgram(const CoreProgram& program) { return Verifier(program).Run(); }

}  // namespace tpurun
