#include "runtime/program/core_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/text.h"

namespace tpurun {

std::string Describe(const Instruction& instruction) {
  std::string text = absl::StrCat(instruction.op->name, " ", Quote(instruction.name));
  if (!instruction.origins.empty()) absl::StrAppend(&text, " of ", Describe(instruction.origins));
  return text;
}
namespace {

template <typename Slots>
SlotLayout Layout64(const Slots& slots, int num_replicas) {
  SlotLayout layout;
  for (const auto& slot : slots) {
    layout.offsets.push_back(layout.bytes);
    layout.replica_bytes.push_back(slot.shape.bytes());
    layout.bytes += Aligned(slot.shape.bytes() * num_replicas);
  }
  return layout;
}

}  // namespace

std::vector<const Phase*> CoreProgram::Phases() const {
  std::vector<const Phase*> all;
  const auto add = [&](const std::vector<Phase>& phases) {
    for (const Phase& phase : phases) all.push_back(&phase);
  };
  add(prologue);
  add(step);
  for (const PeriodicSection& section : periodic) {
    add(section.before);
    add(section.after);
  }
  return all;
}

std::vector<Phase*> CoreProgram::Phases() {
  std::vector<Phase*> all;
  for (const Phase* phase : std::as_const(*this).Phases())
    all.push_back(const_cast<Phase*>(phase));  // of this program, which is not const
  return all;
}

std::vector<const Instruction*> CoreProgram::Instructions() const {
  std::vector<const Instruction*> instructions;
  for (const Phase* phase : Phases()) {
    for (const Instruction& instruction : phase->instructions) instructions.push_back(&instruction);
  }
  return instructions;
}

Interleaving CoreProgram::interleaving() const {
  Interleaving interleaving;
  for (const Phase* phase : Phases()) {
    if (phase->replicas_per_call() == 1) continue;
    interleaving.replicas_per_call =
        std::max(interleaving.replicas_per_call, phase->replicas_per_call());
    interleaving.parts = std::max(interleaving.parts, phase->parts());
  }
  return interleaving;
}

bool CoreProgram::IsShared(const BufferRef& buffer) const {
  switch (buffer.space) {
    case Space::kShared:
    case Space::kLoopIndex:
      return true;
    case Space::kVariable:
      return !variables[buffer.offset].per_core;
    default:
      return false;
  }
}

int InterleavedParts(int replicas_per_call, const Interleaving& interleaving, int num_workers) {
  int parts = 1;
  while (parts < replicas_per_call && interleaving.parts > parts * num_workers) parts *= 2;
  return parts;
}

Partition PartitionOf(const Instruction& i) {
  return Partition{i.per_core,
                   i.parts,
                   i.rows,
                   i.by_columns,
                   i.joins_rows ? 1 : i.replicas_per_call,
                   i.first_part,
                   i.part_step,
                   i.op->flags.exchange != Exchange::kNone};
}

void SetPartition(const Partition& partition, OpCall& call) {
  call.parts = partition.per_core ? 1 : partition.parts;
  call.rows = partition.per_core || partition.parts == 1 ? 0 : partition.rows;
  call.replicas_per_call = partition.replicas_per_call;
}

OpCall CallOfInstruction(const Instruction& instruction, int num_replicas) {
  OpCall call{.op = instruction.op,
              .attrs = instruction.attrs,
              .num_replicas = ReplicasRead(instruction.attrs, num_replicas).count};
  SetPartition(PartitionOf(instruction), call);
  for (size_t i = 0; i < instruction.operands.size(); i += CopiesPerOperand(call))
    call.operands.push_back(instruction.operands[i].shape);
  for (const Operand& result : instruction.results) {
    call.results.push_back(result.shape);
    call.needed.push_back(result.buffer.space != Space::kNone);
  }
  return call;
}

Cost CostOfInstruction(const Instruction& instruction, int num_replicas) {
  const OpCall call = CallOfInstruction(instruction, num_replicas);
  const int joined = instruction.joins_rows ? instruction.replicas_per_call : 1;
  return CostOf(call, instruction.plan) * (instruction.per_core ? num_replicas / joined : 1);
}

bool SamePart(const Partition& writer, const Partition& reader, bool own_rows) {
  if (writer.per_core != reader.per_core || writer.exchange || reader.exchange) return false;
  if (writer.per_core) return true;
  if (writer.parts == 1 && reader.parts == 1) return writer.first_part == reader.first_part;
  return writer == reader && !writer.by_columns && own_rows;
}

bool SamePartOf(const Shape& written, const Partition& writer, const Partition& reader,
                bool own_rows) {
  const auto divides_equally = [](const Partition& of) {
    return of.parts > 1 && HasEqualParts(of.parts) && of.rows > 0 && of.rows % of.parts == 0;
  };
  if (!own_rows || !divides_equally(writer) || !divides_equally(reader))
    return SamePart(writer, reader, own_rows);
  Partition of_rows = reader;
  const bool writes_rows = written.rank() > 0 && written.dims[0] % writer.rows == 0;
  if (writes_rows) of_rows.rows = writer.rows;
  return SamePart(writer, of_rows, own_rows);
}

bool ReadsOwnRows(const OpCall& call, int operand, int64_t rows) {
  TPURUN_DCHECK(operand >= 0 && operand < static_cast<int>(call.operands.size()));
  const OpFlags flags = OpFlagsOf(call);
  const Shape &x = call.operands[operand], &y = call.results[0];
  if (x.rank() == 0 || y.rank() == 0) return false;
  // An element-wise op broadcasts a row to all rows, so all rows read it.
  if (flags.elementwise && x.rank() != y.rank()) return false;
  const bool row_by_row = HasOperand(flags.row_operands, operand) && x.dims[0] == y.dims[0];
  if (!row_by_row && !(flags.is_bitcast && operand == 0)) return false;
  return rows == 0 ? x.dims[0] == 0 : x.dims[0] % rows == 0 && y.dims[0] % rows == 0;
}

SlotLayout LayoutOf(const std::vector<InfeedSlot>& slots, int num_replicas) {
  return Layout64(slots, num_replicas);
}

SlotLayout LayoutOf(const std::vector<OutfeedSlot>& slots, int num_replicas) {
  return Layout64(slots, num_replicas);
}

}  // namespace tpurun
