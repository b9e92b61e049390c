#include "runtime/program/program_text.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ir/line_tokenizer.h"

namespace tpurun {
namespace {

constexpr std::array<const char*, 9> kSpaceNames = {"none",     "shared",     "core",
                                                    "worker",   "infeed",     "outfeed",
                                                    "variable", "loop_index", "replica_id"};

bool HasOffset(Space space) {
  return space != Space::kNone && space != Space::kLoopIndex && space != Space::kReplicaId;
}

std::string PrintOperands(const std::vector<Operand>& operands) {
  std::string text;
  for (const Operand& operand : operands) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", PrintBuffer(operand.buffer), " ",
                    operand.shape.ToString());
  }
  return text;
}

std::string PrintShapes(const std::vector<Shape>& shapes) {
  return absl::StrJoin(shapes, ", ", [](std::string* text, const Shape& shape) {
    absl::StrAppend(text, shape.ToString());
  });
}

// What the kernel was chosen for, besides its scratch memory.
void PrintOffer(const KernelPlan& plan, std::string* text) {
  if (!plan.library_kernel.empty())
    absl::StrAppend(text, " library_kernel=", Quote(plan.library_kernel));
  if (plan.native_bf16) absl::StrAppend(text, " native_bf16");
  if (plan.converts_bf16) absl::StrAppend(text, " converts_bf16");
  if (plan.copied_bytes > 0) absl::StrAppend(text, " copies=", plan.copied_bytes);
}

std::string PrintInstruction(const Instruction& instruction) {
  std::string text = absl::StrCat(
      "  ", instruction.op->name, " ", instruction.attrs.ToString(), " ", Quote(instruction.name),
      PrintOrigins(instruction.origins), instruction.per_core ? " per_core" : "",
      instruction.replicas_per_call > 1
          ? absl::StrCat(" replicas_per_call=", instruction.replicas_per_call)
          : "",
      " parts=", instruction.parts,
      instruction.by_columns ? " columns=" : " rows=", instruction.rows,
      instruction.first_part > 0 ? absl::StrCat(" first_part=", instruction.first_part) : "",
      instruction.part_step > 1 ? absl::StrCat(" part_step=", instruction.part_step) : "",
      " kernel=", Quote(instruction.plan.name()));
  PrintOffer(instruction.plan, &text);
  if (instruction.plan.scratch_bytes > 0) {
    absl::StrAppend(&text, " scratch=", PrintBuffer(instruction.scratch), "+",
                    instruction.plan.scratch_bytes);
  }
  absl::StrAppend(&text, "\n    <- ", PrintOperands(instruction.operands), "\n");
  if (!instruction.plan.best_operands.empty())
    absl::StrAppend(&text, "    prefers ", PrintShapes(instruction.plan.best_operands), "\n");
  absl::StrAppend(&text, "    -> ", PrintOperands(instruction.results), "\n");
  return text;
}

void PrintPhases(const std::string& heading, const std::vector<Phase>& phases, std::string* text) {
  for (size_t i = 0; i < phases.size(); ++i) {
    absl::StrAppend(text, heading, " phase ", i, "\n");
    for (const Instruction& instruction : phases[i].instructions)
      absl::StrAppend(text, PrintInstruction(instruction));
  }
}

absl::Status Bad(absl::string_view want) {
  return absl::InvalidArgumentError(absl::StrCat("want ", want));
}

std::optional<BufferRef> ParseBuffer(LineTokenizer& line) {
  BufferRef buffer;
  for (size_t space = 0; space < kSpaceNames.size(); ++space) {
    // If a name is a prefix of another name, the longer name comes first in the list.
    if (!line.Eat(kSpaceNames[space])) continue;
    buffer.space = static_cast<Space>(space);
    if (!HasOffset(buffer.space)) return buffer;
    if (!line.rest().empty() && line.rest()[0] != ':') {
      const std::optional<int64_t> core = line.Int();
      if (!core || *core < 0) return std::nullopt;
      buffer.core = static_cast<int>(*core);
    }
    const std::optional<int64_t> offset = line.Eat(":") ? line.Int() : std::nullopt;
    if (!offset || *offset < 0) return std::nullopt;
    buffer.offset = *offset;
    return buffer;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Operand>> ParseOperands(LineTokenizer& line) {
  std::vector<Operand> operands;
  while (!line.AtEnd()) {
    const std::optional<BufferRef> buffer = ParseBuffer(line);
    const std::optional<Shape> shape = buffer ? line.AShape() : std::nullopt;
    if (!shape) return Bad("SPACE:OFFSET shape, ...");
    operands.push_back(Operand{*buffer, *shape});
    if (!line.AtEnd() && !line.Eat(",")) return Bad("a comma between operands");
  }
  return operands;
}

std::optional<int64_t> Field(LineTokenizer& line, std::string_view name) {
  return line.Eat(name) ? line.Int() : std::nullopt;
}

// Parses the output of PrintOffer. Returns false for any other text.
bool ParseOffer(LineTokenizer& line, KernelPlan& plan) {
  if (line.Eat("library_kernel=")) {
    std::optional<std::string> name = line.QuotedString();
    if (!name) return false;
    plan.library_kernel = *std::move(name);
  }
  plan.native_bf16 = line.Eat("native_bf16");
  plan.converts_bf16 = line.Eat("converts_bf16");
  if (!line.Eat("copies=")) return true;
  const std::optional<int64_t> bytes = line.Int();
  plan.copied_bytes = bytes.value_or(-1);
  return plan.copied_bytes >= 0;
}

absl::StatusOr<Instruction> ParseInstruction(LineTokenizer& line, const FindOp& find_op) {
  const absl::Status bad =
      Bad("OP {attributes} \"name\" [from \"PHASE:LAYER\" ...] [per_core [replicas_per_call=N]] "
          "parts=N rows=N|columns=N [first_part=N] [part_step=N] "
          "kernel=\"name\" [library_kernel=\"name\"] [native_bf16] [converts_bf16] [copies=BYTES] "
          "[scratch=worker:OFFSET+BYTES]");
  Instruction instruction;
  const std::string op = line.Word();
  instruction.op = find_op(op);
  if (instruction.op == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("there is no op \"", op, "\""));
  std::optional<Attrs> attrs = line.Attributes();
  const std::optional<std::string> name = attrs ? line.QuotedString() : std::nullopt;
  std::optional<Origins> origins = name ? ParseOrigins(line) : std::nullopt;
  if (!origins) return bad;
  ASSIGN_OR_RETURN(instruction.attrs, TypedAttrs(*instruction.op, *std::move(attrs)));
  instruction.name = *name;
  instruction.origins = *std::move(origins);
  instruction.per_core = line.Eat("per_core");
  if (instruction.per_core && line.Eat("replicas_per_call=")) {
    const std::optional<int64_t> replicas_per_call = line.Int();
    if (!replicas_per_call) return bad;
    instruction.replicas_per_call = static_cast<int>(*replicas_per_call);
  }
  const std::optional<int64_t> parts = Field(line, "parts=");
  instruction.by_columns = parts && line.Eat("columns=");
  const std::optional<int64_t> rows = instruction.by_columns ? line.Int()
                                      : parts                ? Field(line, "rows=")
                                                             : std::nullopt;
  const std::optional<int64_t> first_part =
      rows && line.Eat("first_part=") ? line.Int() : std::optional<int64_t>(0);
  const std::optional<int64_t> part_step =
      first_part && line.Eat("part_step=") ? line.Int() : std::optional<int64_t>(1);
  const std::optional<std::string> kernel =
      rows && first_part && part_step && line.Eat("kernel=") ? line.QuotedString() : std::nullopt;
  if (!kernel) return bad;
  instruction.parts = static_cast<int>(*parts);
  instruction.rows = *rows;
  instruction.first_part = static_cast<int>(*first_part);
  instruction.part_step = static_cast<int>(*part_step);
  instruction.plan.kernel = FindKernel(*instruction.op, *kernel);
  if (instruction.plan.kernel == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(op, " has no kernel \"", *kernel, "\""));
  if (!ParseOffer(line, instruction.plan)) return bad;
  if (line.Eat("scratch=")) {
    const std::optional<BufferRef> scratch = ParseBuffer(line);
    const std::optional<int64_t> bytes = scratch ? Field(line, "+") : std::nullopt;
    if (!bytes) return bad;
    instruction.scratch = *scratch;
    instruction.plan.scratch_bytes = *bytes;
  }
  if (!line.AtEnd()) return bad;
  return instruction;
}

class Parser {
 public:
  explicit Parser(const FindOp& find_op) : find_op_(find_op) {}

  absl::Status Line(std::string_view text) {
    LineTokenizer line(text);
    if (line.Eat("program ")) return Header(line);
    if (line.Eat("arena ")) return Arena(line);
    if (line.Eat("variable ")) return AVariable(line);
    if (line.Eat("infeed ")) return Slot(line, &program_.infeed);
    if (line.Eat("outfeed ")) return AnOutfeedSlot(line);
    if (line.Eat("loss ")) return Loss(line);
    if (line.Eat("prologue phase ")) return StartPhase(line, &program_.prologue);
    if (line.Eat("step phase ")) return StartPhase(line, &program_.step);
    if (line.Eat("periodic ")) return Periodic(line);
    if (line.Eat("<- ") || line.Eat("<-")) return Operands(line, &Instruction::operands);
    if (line.Eat("prefers ")) return Preferred(line);
    if (line.Eat("-> ") || line.Eat("->")) return Operands(line, &Instruction::results);
    if (phases_ == nullptr)
      return Bad("program, arena, variable, infeed, outfeed, loss or a phase");
    ASSIGN_OR_RETURN(Instruction instruction, ParseInstruction(line, find_op_));
    phases_->back().instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  CoreProgram Take() { return std::move(program_); }

 private:
  absl::Status Header(LineTokenizer& line) {
    const std::optional<std::string> name = line.QuotedString();
    const std::optional<ReplicaRange> replicas =
        name && line.Eat("replicas=") ? EatReplicas(line) : std::nullopt;
    const std::optional<std::string> machine =
        replicas && line.Eat("machine=") ? line.QuotedString() : std::nullopt;
    const std::optional<std::string> library =
        machine && line.Eat("library=") ? line.QuotedString() : std::nullopt;
    if (!library) return Bad("program \"name\" replicas=N machine=\"...\" library=\"...\"");
    program_.name = *name;
    program_.num_replicas = replicas->count;
    program_.first_replica = replicas->first;
    program_.all_replicas = replicas->all;
    program_.machine = *machine;
    program_.library = *library;
    return absl::OkStatus();
  }
  absl::Status Arena(LineTokenizer& line) {
    const std::optional<int64_t> shared = Field(line, "shared=");
    const std::optional<int64_t> core = shared ? Field(line, "core=") : std::nullopt;
    const std::optional<int64_t> worker = core ? Field(line, "worker=") : std::nullopt;
    if (!worker) return Bad("arena shared=N core=N worker=N");
    program_.shared_bytes = *shared;
    program_.core_bytes = *core;
    program_.worker_bytes = *worker;
    return absl::OkStatus();
  }
  absl::Status AVariable(LineTokenizer& line) {
    const std::optional<int64_t> index = line.Int();
    if (!index || *index != static_cast<int64_t>(program_.variables.size()))
      return Bad("variables in order");
    ASSIGN_OR_RETURN(Variable variable, ParseVariable(line));
    program_.variables.push_back(std::move(variable));
    return absl::OkStatus();
  }
  template <typename Slots>
  absl::Status Slot(LineTokenizer& line, Slots* slots) {
    const std::optional<int64_t> index = line.Int();
    const std::optional<std::string> name = index ? line.QuotedString() : std::nullopt;
    const std::optional<Shape> shape = name ? line.AShape() : std::nullopt;
    if (!shape || *index != static_cast<int64_t>(slots->size()))
      return Bad("NUMBER \"name\" shape, in order");
    slots->push_back({*name, *shape});
    return absl::OkStatus();
  }
  absl::Status AnOutfeedSlot(LineTokenizer& line) {
    RETURN_IF_ERROR(Slot(line, &program_.outfeed));
    if (line.AtEnd()) return absl::OkStatus();
    const std::optional<int64_t> period = Field(line, "period=");
    if (!period || !line.AtEnd()) return Bad("NUMBER \"name\" shape [period=STEPS]");
    program_.outfeed.back().period = *period;
    return absl::OkStatus();
  }
  absl::Status Loss(LineTokenizer& line) {
    const std::optional<BufferRef> buffer = ParseBuffer(line);
    const std::optional<int64_t> phase = buffer ? Field(line, "after ") : std::nullopt;
    if (!phase) return Bad("loss SPACE:OFFSET after PHASE");
    program_.loss = *buffer;
    program_.loss_phase = static_cast<int>(*phase);
    return absl::OkStatus();
  }
  absl::Status StartPhase(LineTokenizer& line, std::vector<Phase>* phases) {
    const std::optional<int64_t> index = line.Int();
    if (!index || *index != static_cast<int64_t>(phases->size()) || !line.AtEnd())
      return Bad("phases in order");
    phases->emplace_back();
    phases_ = phases;
    return absl::OkStatus();
  }
  absl::Status Periodic(LineTokenizer& line) {
    const std::optional<int64_t> period = Field(line, "period=");
    const bool before = line.Eat("before ");
    if (!period || (!before && !line.Eat("after ")) || !line.Eat("phase ")) {
      return Bad("periodic period=N before|after phase NUMBER");
    }
    if (program_.periodic.empty() || program_.periodic.back().period != *period) {
      program_.periodic.push_back(PeriodicSection{.period = *period});
    }
    PeriodicSection& range = program_.periodic.back();
    return StartPhase(line, before ? &range.before : &range.after);
  }
  absl::Status Operands(LineTokenizer& line, std::vector<Operand> Instruction::*which) {
    if (phases_ == nullptr || phases_->back().instructions.empty())
      return Bad("an instruction before its operands");
    ASSIGN_OR_RETURN(std::vector<Operand> operands, ParseOperands(line));
    phases_->back().instructions.back().*which = std::move(operands);
    return absl::OkStatus();
  }

  // KernelOffer::best_operands: a shape for each operand.
  absl::Status Preferred(LineTokenizer& line) {
    if (phases_ == nullptr || phases_->back().instructions.empty())
      return Bad("an instruction before the operands that it prefers");
    Instruction& instruction = phases_->back().instructions.back();
    std::vector<Shape>& shapes = instruction.plan.best_operands;
    shapes.clear();
    while (!line.AtEnd()) {
      const std::optional<Shape> shape = line.AShape();
      if (!shape) return Bad("prefers shape, ...");
      shapes.push_back(*shape);
      if (!line.AtEnd() && !line.Eat(",")) return Bad("a comma between shapes");
    }
    if (shapes.size() != instruction.operands.size())
      return Bad("a preferred shape for each operand");
    return absl::OkStatus();
  }

  const FindOp& find_op_;
  CoreProgram program_;
  std::vector<Phase>* phases_ = nullptr;
};

}  // namespace

std::string PrintBuffer(const BufferRef& buffer) {
  std::string text = kSpaceNames[static_cast<size_t>(buffer.space)];
  if (!HasOffset(buffer.space)) return text;
  if (buffer.core >= 0) absl::StrAppend(&text, buffer.core);
  absl::StrAppend(&text, ":", buffer.offset);
  return text;
}

std::string PrintProgram(const CoreProgram& program) {
  std::string text = absl::StrCat(
      "program ", Quote(program.name), " replicas=",
      PrintReplicas({program.num_replicas, program.first_replica, program.all_replicas}),
      " machine=", Quote(program.machine), " library=", Quote(program.library),
      "\narena shared=", program.shared_bytes, " core=", program.core_bytes,
      " worker=", program.worker_bytes, "\n");
  for (size_t i = 0; i < program.variables.size(); ++i) {
    absl::StrAppend(&text, "variable ", i, " ", PrintVariable(program.variables[i]), "\n");
  }
  for (size_t i = 0; i < program.infeed.size(); ++i) {
    absl::StrAppend(&text, "infeed ", i, " ", Quote(program.infeed[i].name), " ",
                    program.infeed[i].shape.ToString(), "\n");
  }
  for (size_t i = 0; i < program.outfeed.size(); ++i) {
    absl::StrAppend(
        &text, "outfeed ", i, " ", Quote(program.outfeed[i].name), " ",
        program.outfeed[i].shape.ToString(),
        program.outfeed[i].period == 1 ? "" : absl::StrCat(" period=", program.outfeed[i].period),
        "\n");
  }
  if (program.loss.space != Space::kNone) {
    absl::StrAppend(&text, "loss ", PrintBuffer(program.loss), " after ", program.loss_phase, "\n");
  }
  PrintPhases("prologue", program.prologue, &text);
  PrintPhases("step", program.step, &text);
  for (const PeriodicSection& range : program.periodic) {
    const std::string section = absl::StrCat("periodic period=", range.period);
    PrintPhases(section + " before", range.before, &text);
    PrintPhases(section + " after", range.after, &text);
  }
  return text;
}

absl::StatusOr<CoreProgram> ParseProgram(std::string_view text, const FindOp& find_op) {
  Parser parser(find_op);
  int number = 0;
  for (const absl::string_view piece :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const std::string_view line(piece.data(), piece.size());
    if (line.find_first_not_of(' ') == std::string_view::npos || line[0] == '#') continue;
    const absl::Status status = parser.Line(line);
    if (!status.ok()) return Annotate(status, absl::StrCat("line ", number));
  }
  return parser.Take();
}

}  // namespace tpurun
