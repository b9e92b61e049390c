#include "runtime/profile/memory_at_peak.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tpurun {
namespace {

// A value in an arena.
struct LiveValue {
  BufferRef buffer;
  int64_t bytes = 0;  // of one copy
  const Instruction* writer = nullptr;
  size_t first = 0, last = 0;  // indices of instructions
};

bool InArena(Space space) {
  return space == Space::kShared || space == Space::kCore || space == Space::kWorker;
}

bool Overlap(const LiveValue& value, const Operand& operand) {
  return value.buffer.space == operand.buffer.space && value.buffer.core == operand.buffer.core &&
         value.buffer.offset < operand.buffer.offset + operand.shape.bytes() &&
         operand.buffer.offset < value.buffer.offset + value.bytes;
}

// All values of the instructions. A value that is written over ends there.
std::vector<LiveValue> ValuesOf(const std::vector<const Instruction*>& instructions) {
  std::vector<LiveValue> values;
  std::vector<size_t> current;  // values that nothing has written over
  for (size_t i = 0; i < instructions.size(); ++i) {
    for (const Operand& operand : instructions[i]->operands) {
      Operand own = operand;
      own.buffer.core = -1;  // one of all copies
      for (const size_t value : current) {
        if (Overlap(values[value], own)) values[value].last = i;
      }
    }
    for (const Operand& result : instructions[i]->results) {
      if (!InArena(result.buffer.space)) continue;
      std::erase_if(current, [&](size_t value) { return Overlap(values[value], result); });
      current.push_back(values.size());
      const int64_t stride = result.buffer.part_stride;  // of a joined phase
      const int64_t bytes = stride > 0 ? stride : result.shape.bytes();
      values.push_back({result.buffer, bytes, instructions[i], i, i});
    }
  }
  return values;
}

int64_t CopiesOf(Space space, const CoreProgram& program, int num_workers) {
  if (space == Space::kShared) return 1;
  if (space == Space::kCore) return program.num_replicas;
  const Interleaving interleaving = program.interleaving();
  return static_cast<int64_t>(num_workers) *
         InterleavedParts(interleaving.replicas_per_call, interleaving, num_workers);
}

}  // namespace

proto::ProfileMemory MemoryAtPeak(const CoreProgram& program, int num_workers) {
  const std::vector<const Instruction*> instructions = program.Instructions();
  const std::vector<LiveValue> values = ValuesOf(instructions);
  const auto bytes_of = [&](const LiveValue& value) {
    return value.bytes * CopiesOf(value.buffer.space, program, num_workers);
  };
  std::vector<int64_t> change(instructions.size() + 1, 0);
  for (const LiveValue& value : values) {
    change[value.first] += bytes_of(value);
    change[value.last + 1] -= bytes_of(value);
  }
  proto::ProfileMemory memory;
  int64_t live = 0;
  size_t peak = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    live += change[i];
    if (live <= memory.peak_bytes()) continue;
    memory.set_peak_bytes(live);
    memory.set_peak_instruction(instructions[i]->name);
    peak = i;
  }
  std::map<NodeOrigin, int64_t> by_layer;
  for (const LiveValue& value : values) {
    if (value.first > peak || value.last < peak) continue;
    const Origins& origins = value.writer->origins;
    for (const NodeOrigin& origin : origins)
      by_layer[origin] += bytes_of(value) / static_cast<int64_t>(origins.size());
  }
  std::vector<std::pair<int64_t, NodeOrigin>> sorted;
  for (const auto& [origin, bytes] : by_layer) sorted.emplace_back(bytes, origin);
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [bytes, origin] : sorted) {
    proto::MemoryOfLayer& row = *memory.add_at_peak();
    row.set_layer(origin.layer);
    row.set_phase(PhaseName(origin.phase));
    row.set_bytes(bytes);
  }
  for (const Variable& variable : program.variables)
    memory.set_variables_bytes(memory.variables_bytes() +
                               variable.shape.bytes() *
                                   (variable.per_core ? program.num_replicas : 1));
  memory.set_arena_bytes(program.shared_bytes + program.core_bytes * program.num_replicas +
                         program.worker_bytes * CopiesOf(Space::kWorker, program, num_workers));
  return memory;
}

}  // namespace tpurun
