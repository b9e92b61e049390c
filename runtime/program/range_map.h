// Memory ranges of instructions, in maps that find overlaps without comparing all pairs.
#ifndef TPURUN_RUNTIME_PROGRAM_RANGE_MAP_H_
#define TPURUN_RUNTIME_PROGRAM_RANGE_MAP_H_

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/dcheck.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// [begin, end) of a space: bytes of an arena, or a whole variable or outfeed slot. The arenas of
// all cores count as one, and so do those of all workers. Empty if no two instructions can conflict
// in the space.
struct Range {
  Space space = Space::kNone;
  int64_t begin = 0, end = 0;
};
Range RangeOf(const Operand& operand);

// A map from ranges that do not overlap to values.
template <typename T>
class RangeMap {
 public:
  struct Entry {
    int64_t end;
    T value;
  };
  using Entries = std::map<std::pair<Space, int64_t>, Entry>;  // by the begin of the range
  using Iterator = typename Entries::iterator;

  // The entries that overlap the range, in order: [first, second).
  std::pair<Iterator, Iterator> Overlapping(const Range& range) {
    if (range.begin >= range.end) return {entries_.end(), entries_.end()};
    Iterator first = entries_.lower_bound({range.space, range.begin});
    if (first != entries_.begin()) {
      const Iterator before = std::prev(first);
      if (before->first.first == range.space && before->second.end > range.begin) first = before;
    }
    return {first, entries_.lower_bound({range.space, range.end})};
  }

  // Erases every entry that overlaps the range, including its parts outside the range.
  void Erase(const Range& range) {
    const auto [first, last] = Overlapping(range);
    entries_.erase(first, last);
  }

  // Sets the value of the whole range. Entries that extend beyond the range keep their outer parts.
  void Assign(const Range& range, T value) {
    if (range.begin >= range.end) return;
    Partition(range.space, range.begin);
    Partition(range.space, range.end);
    Erase(range);
    // No entry overlaps the range any more.
    TPURUN_DCHECK(Overlapping(range).first == Overlapping(range).second);
    entries_.insert({{range.space, range.begin}, {range.end, std::move(value)}});
  }

  // Calls change(value) for all entries in the range. Gaps of the range first get a value T{}, and
  // entries that extend beyond the range are split.
  template <typename Change>
  void Update(const Range& range, Change change) {
    Partition(range.space, range.begin);
    Partition(range.space, range.end);
    int64_t at = range.begin;
    const auto [first, last] = Overlapping(range);
    for (Iterator entry = first; entry != last; ++entry) {
      if (at < entry->first.second)
        entries_.insert({{range.space, at}, {entry->first.second, T{}}});
      at = entry->second.end;
    }
    if (at < range.end) entries_.insert({{range.space, at}, {range.end, T{}}});
    const auto [begin, end] = Overlapping(range);
    for (Iterator entry = begin; entry != end; ++entry) change(entry->second.value);
  }

  void EraseSpace(Space space) {
    entries_.erase(entries_.lower_bound({space, INT64_MIN}),
                   entries_.upper_bound({space, INT64_MAX}));
  }

 private:
  // Splits an entry that lies on both sides of `at` into two entries.
  void Partition(Space space, int64_t at) {
    const auto [entry, last] = Overlapping({space, at, at + 1});
    if (entry == last || entry->first.second == at) return;
    entries_.insert({{space, at}, entry->second});
    entry->second.end = at;
  }

  Entries entries_;
};

// An index of instructions by the ranges that they read or write. Ranges may overlap.
class RangeIndex {
 public:
  void Add(const Operand& operand, const Instruction& instruction);
  // Call after the last Add and before the first ForEachOverlap.
  void Finish();

  // Calls visit(instruction) for every range that overlaps the range of the operand.
  template <typename Visit>
  void ForEachOverlap(const Operand& operand, Visit visit) const {
    const Range range = RangeOf(operand);
    auto entry =
        std::lower_bound(entries_.begin(), entries_.end(), std::pair(range.space, range.end),
                         [](const Entry& entry, const std::pair<Space, int64_t>& begin) {
                           return std::pair(entry.range.space, entry.range.begin) < begin;
                         });
    while (entry != entries_.begin()) {
      --entry;
      if (entry->range.space != range.space || entry->furthest <= range.begin) return;
      if (entry->range.end > range.begin) visit(*entry->instruction);
    }
  }

 private:
  struct Entry {
    Range range;
    const Instruction* instruction;
    int64_t furthest;  // the largest end of this range and of the ranges of its space before it
  };
  std::vector<Entry> entries_;  // by the begin of the range
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROGRAM_RANGE_MAP_H_
