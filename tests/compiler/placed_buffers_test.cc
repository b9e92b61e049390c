#include "runtime/compiler/placed_buffers.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/dcheck.h"

namespace tpurun {
namespace {

struct Placed {
  Lifetime life;
  int64_t offset, bytes;
};

// By the definition: a walk over all, by their offsets.
int64_t FindGap(const std::vector<Placed>& placed, const Lifetime& life, int64_t bytes) {
  int64_t end = 0, best = -1, best_gap = std::numeric_limits<int64_t>::max();
  for (const Placed& other : placed) {
    if (!AliveTogether(life, other.life)) continue;
    const int64_t gap = other.offset - end;
    if (gap >= bytes && gap < best_gap) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, other.offset + other.bytes);
  }
  return best >= 0 ? best : end;
}

// Phases of 16 instructions; some live in one of them, in order, others for whole phases.
Lifetime RandomLife(std::minstd_rand& random, int instructions) {
  constexpr int kPhase = 16;
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  const int first = below(instructions);
  const int longest = below(4) == 0 ? instructions : 4;
  const int last = std::min(instructions - 1, first + below(longest));
  if (below(2) == 0) return {.first = first, .last = last};
  const int begin = first / kPhase * kPhase, end = begin + kPhase - 1;
  if (below(2) == 0) return {.first = begin, .last = last / kPhase * kPhase + kPhase - 1};
  return {
      .first = begin, .last = end, .in_order = true, .written = first, .read = std::min(end, last)};
}

TEST(PlacedBuffersTest, FindsTheGapThatAWalkOverAllFinds) {
  std::minstd_rand random(7);
  for (int round = 0; round < 200; ++round) {
    const int sizes = 1 + static_cast<int>(random() % 6);
    PlacedBuffers buffers;
    std::vector<Placed> placed;  // by offset
    for (int i = 0; i < 300; ++i) {
      const Lifetime life = RandomLife(random, 16 * (1 + round % 40));
      const int64_t bytes = 64 * static_cast<int64_t>(1 + random() % sizes * (random() % 9));
      const int64_t offset = buffers.FindGap(life, bytes);
      ASSERT_EQ(offset, FindGap(placed, life, bytes)) << "round " << round << ", buffer " << i;
      buffers.Add(life, offset, bytes);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                     [](int64_t at, const Placed& p) { return at < p.offset; }),
                    {life, offset, bytes});
    }
  }
}

TEST(PlacedBuffersDeathTest, BuffersThatAreAliveTogetherLieApart) {
  if (!kDchecksAreOn) GTEST_SKIP() << "built without DCHECKs";
  PlacedBuffers buffers;
  buffers.Add({.first = 0, .last = 4}, 0, 128);
  buffers.Add({.first = 5, .last = 6}, 64, 128);
  EXPECT_DEATH(buffers.Add({.first = 4, .last = 4}, 64, 64), "DCHECK failed: IsFree");
}

}  // namespace
}  // namespace tpurun
