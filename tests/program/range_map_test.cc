#include "runtime/program/range_map.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

Range Shared(int64_t begin, int64_t end) { return {Space::kShared, begin, end}; }

// "0-64:a 64-128:b".
std::string Text(RangeMap<std::string>& map) {
  std::string text;
  const auto [first, last] = map.Overlapping(Shared(0, 1000));
  for (auto entry = first; entry != last; ++entry) {
    absl::StrAppend(&text, text.empty() ? "" : " ", entry->first.second, "-", entry->second.end,
                    ":", entry->second.value);
  }
  return text;
}

TEST(RangeMapTest, AssignCutsWhatReachesBeyondIt) {
  RangeMap<std::string> map;
  map.Assign(Shared(0, 100), "a");
  map.Assign(Shared(40, 60), "b");
  EXPECT_EQ(Text(map), "0-40:a 40-60:b 60-100:a");
  map.Assign(Shared(30, 100), "c");
  EXPECT_EQ(Text(map), "0-30:a 30-100:c");
}

TEST(RangeMapTest, UpdateFillsGapsAndTouchesNothingElse) {
  RangeMap<std::string> map;
  map.Assign(Shared(10, 20), "a");
  map.Assign(Shared(30, 50), "b");
  map.Assign({Space::kCore, 0, 1000}, "other");
  map.Update(Shared(5, 40), [](std::string& value) { value += "+"; });
  EXPECT_EQ(Text(map), "5-10:+ 10-20:a+ 20-30:+ 30-40:b+ 40-50:b");
}

TEST(RangeMapTest, EraseTakesWholeEntries) {
  RangeMap<std::string> map;
  map.Assign(Shared(0, 10), "a");
  map.Assign(Shared(10, 20), "b");
  map.Assign(Shared(20, 30), "c");
  map.Erase(Shared(5, 11));
  EXPECT_EQ(Text(map), "20-30:c");
  map.EraseSpace(Space::kWorker);
  EXPECT_EQ(Text(map), "20-30:c");
  map.EraseSpace(Space::kShared);
  EXPECT_EQ(Text(map), "");
}

Operand At(Space space, int64_t offset, int64_t bytes) {
  return {.buffer = {space, offset}, .shape = {DType::kU8, {bytes}}};
}

TEST(RangeIndexTest, FindsWhatAWalkOverAllFinds) {
  std::minstd_rand random(7);
  const auto operand = [&] {
    const Space spaces[] = {Space::kShared, Space::kCore, Space::kVariable, Space::kInfeed};
    return At(spaces[random() % 4], static_cast<int64_t>(random() % 100),
              static_cast<int64_t>(1 + random() % 30));
  };
  const std::vector<Instruction> instructions(50);
  std::vector<Operand> operands;
  RangeIndex index;
  for (const Instruction& instruction : instructions) {
    operands.push_back(operand());
    index.Add(operands.back(), instruction);
  }
  index.Finish();
  for (int i = 0; i < 200; ++i) {
    const Range query = RangeOf(operands.emplace_back(operand()));
    std::set<const Instruction*> want, got;
    for (size_t j = 0; j < instructions.size(); ++j) {
      const Range range = RangeOf(operands[j]);
      if (range.space == query.space && range.begin < query.end && query.begin < range.end)
        want.insert(&instructions[j]);
    }
    index.ForEachOverlap(operands.back(), [&](const Instruction& found) { got.insert(&found); });
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace tpurun
