#include "runtime/program/range_map.h"

#include <algorithm>

namespace tpurun {

Range RangeOf(const Operand& operand) {
  const BufferRef& buffer = operand.buffer;
  switch (buffer.space) {
    case Space::kShared:
    case Space::kCore:
    case Space::kWorker:
      return {buffer.space, buffer.offset, buffer.offset + operand.shape.bytes()};
    case Space::kVariable:
    case Space::kOutfeed:
      return {buffer.space, buffer.offset, buffer.offset + 1};
    case Space::kNone:
    case Space::kInfeed:
    case Space::kLoopIndex:
    case Space::kReplicaId:
      break;
  }
  return {};
}

void RangeIndex::Add(const Operand& operand, const Instruction& instruction) {
  const Range range = RangeOf(operand);
  if (range.begin < range.end) entries_.push_back({range, &instruction, range.end});
}

void RangeIndex::Finish() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.range.space, a.range.begin) < std::pair(b.range.space, b.range.begin);
  });
  for (size_t i = 1; i < entries_.size(); ++i) {
    const Entry& before = entries_[i - 1];
    if (before.range.space != entries_[i].range.space) continue;
    entries_[i].furthest = std::max(entries_[i].furthest, before.furthest);
  }
}

}  // namespace tpurun
