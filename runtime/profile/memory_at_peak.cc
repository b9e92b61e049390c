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
  int64_t extent = 0;  // bytes from buffer.offset on
  int64_t bytes = 0;   // of all copies
  const Instruction* writer = nullptr;
  size_t first = 0, last = 0;  // indices of instructions
};

bool InArena(Space space) {
  return space == Space::kShared || space == Space::kCore || space == Space::kWorker;
}

// The values of the parts of a worker in a joined phase follow each other.
int64_t ExtentOf(const Operand& operand, const Phase& phase) {
  const int64_t stride = operand.buffer.part_stride;
  return stride > 0 ? stride * phase.replicas_per_call() : operand.shape.bytes();
}

bool Overlap(const LiveValue& value, const BufferRef& buffer, int64_t extent) {
  return value.buffer.space == buffer.space && value.buffer.core == buffer.core &&
         value.buffer.offset < buffer.offset + extent &&
         buffer.offset < value.buffer.offset + value.extent;
}

int64_t CopiesOf(const BufferRef& buffer, const Phase& phase, const CoreProgram& program,
                 int num_workers) {
  if (buffer.space == Space::kShared) return 1;
  if (buffer.space == Space::kCore) return program.num_replicas;
  if (buffer.part_stride > 0) return num_workers;
  return static_cast<int64_t>(num_workers) *
         InterleavedParts(phase.replicas_per_call(), program.interleaving(), num_workers);
}

// All values of the instructions. A value that is written over ends there.
std::vector<LiveValue> ValuesOf(const CoreProgram& program, int num_workers) {
  std::vector<LiveValue> values;
  std::vector<size_t> current;  // values that nothing has written over
  size_t i = 0;
  for (const Phase* phase : program.Phases()) {
    for (const Instruction& instruction : phase->instructions) {
      for (const Operand& operand : instruction.operands) {
        BufferRef own = operand.buffer;
        own.core = -1;  // one of all copies
        for (const size_t value : current) {
          if (Overlap(values[value], own, ExtentOf(operand, *phase))) values[value].last = i;
        }
      }
      for (const Operand& result : instruction.results) {
        if (!InArena(result.buffer.space)) continue;
        const int64_t extent = ExtentOf(result, *phase);
        std::erase_if(current,
                      [&](size_t value) { return Overlap(values[value], result.buffer, extent); });
        current.push_back(values.size());
        const int64_t copies = CopiesOf(result.buffer, *phase, program, num_workers);
        values.push_back({result.buffer, extent, extent * copies, &instruction, i, i});
      }
      ++i;
    }
  }
  return values;
}

}  // namespace

proto::ProfileMemory MemoryAtPeak(const CoreProgram& program, int num_workers) {
  const std::vector<const Instruction*> instructions = program.Instructions();
  const std::vector<LiveValue> values = ValuesOf(program, num_workers);
  std::vector<int64_t> change(instructions.size() + 1, 0);
  for (const LiveValue& value : values) {
    change[value.first] += value.bytes;
    change[value.last + 1] -= value.bytes;
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
    if (origins.empty()) by_layer[{}] += value.bytes;
    // Equal shares, but for the bytes that are left.
    int64_t rest = value.bytes, sharers = std::ssize(origins);
    for (const NodeOrigin& origin : origins) {
      const int64_t share = rest / sharers--;
      by_layer[origin] += share;
      rest -= share;
    }
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
  const Interleaving interleaving = program.interleaving();
  const int of_worker = InterleavedParts(interleaving.replicas_per_call, interleaving, num_workers);
  memory.set_arena_bytes(program.shared_bytes + program.core_bytes * program.num_replicas +
                         program.worker_bytes * of_worker * num_workers);
  return memory;
}

}  // namespace tpurun
