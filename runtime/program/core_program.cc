#include "runtime/program/core_program.h"

#include "runtime/base/dcheck.h"

namespace tpurun {
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

Joined CoreProgram::joined() const {
  Joined joined;
  const auto look = [&](const std::vector<Phase>& phases) {
    for (const Phase& phase : phases) {
      if (phase.joins() == 1) continue;
      joined.joins = std::max(joined.joins, phase.joins());
      joined.parts = std::max(joined.parts, phase.parts());
    }
  };
  look(prologue);
  look(step);
  for (const GuardedRange& range : guarded) {
    look(range.before);
    look(range.after);
  }
  return joined;
}

int SideBySide(int joins, const Joined& joined, int num_workers) {
  int parts = 1;
  while (parts < joins && joined.parts > parts * num_workers) parts *= 2;
  return parts;
}

void SetCut(const Cut& cut, OpCall& call) {
  call.parts = cut.per_core ? 1 : cut.parts;
  call.rows = cut.per_core || cut.parts == 1 ? 0 : cut.rows;
  call.joins = cut.joins;
}

OpCall CallOfInstruction(const Instruction& instruction, int num_replicas) {
  OpCall call{.op = instruction.op, .attrs = instruction.attrs, .num_replicas = num_replicas};
  SetCut(CutOf(instruction), call);
  for (size_t i = 0; i < instruction.operands.size(); i += CopiesPerOperand(call))
    call.operands.push_back(instruction.operands[i].shape);
  for (const Operand& result : instruction.results) {
    call.results.push_back(result.shape);
    call.needed.push_back(result.buffer.space != Space::kNone);
  }
  return call;
}

bool SamePart(const Cut& writer, const Cut& reader, bool own_rows) {
  if (writer.per_core != reader.per_core) return false;
  if (writer.per_core) return true;
  if (writer.parts == 1 && reader.parts == 1) return true;
  return writer == reader && !writer.by_columns && own_rows;
}

bool ReadsOwnRows(const OpCall& call, int operand, int64_t rows) {
  TPURUN_DCHECK(operand >= 0 && operand < static_cast<int>(call.operands.size()));
  const OpFlags flags = OpFlagsOf(call);
  const Shape &x = call.operands[operand], &y = call.results[0];
  if (x.rank() == 0 || y.rank() == 0) return false;
  // A row that goes with every row of an element-wise op is read by all of them.
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
