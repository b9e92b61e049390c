#include "runtime/session/outfeed.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tpurun {
namespace {

CoreProgram ProgramWithOneSlot() {
  CoreProgram program;
  program.outfeed.push_back({"x", Shape{DType::kF32, {}}});
  return program;
}

absl::Status Feed(Outfeed& outfeed, int64_t loop_index) {
  const absl::StatusOr<std::byte*> entry = outfeed.ring().Reserve();
  if (!entry.ok()) return entry.status();
  std::memcpy(*entry, &loop_index, sizeof loop_index);
  outfeed.ring().Commit();
  return absl::OkStatus();
}

TEST(OutfeedTest, DrainWaitsUntilAllIsTaken) {
  std::vector<int64_t> taken;
  Outfeed outfeed(ProgramWithOneSlot(), [&](int64_t loop_index, const std::byte*) {
    taken.push_back(loop_index);
    return absl::OkStatus();
  });
  EXPECT_TRUE(outfeed.Drain().ok());
  for (const int64_t first : {0, 200}) {
    for (int64_t i = 0; i < 200; ++i) ASSERT_TRUE(Feed(outfeed, first + i).ok());
    EXPECT_TRUE(outfeed.Drain().ok());
    EXPECT_EQ(taken.size(), first + 200);
    EXPECT_EQ(taken.back(), first + 199);
  }
  EXPECT_TRUE(outfeed.Finish().ok());
}

TEST(OutfeedTest, AnErrorOfTakeEndsBothSides) {
  Outfeed outfeed(ProgramWithOneSlot(), [](int64_t loop_index, const std::byte*) {
    return loop_index < 3 ? absl::OkStatus() : absl::DataLossError("full");
  });
  // The ring is small: it closes before all are fed.
  absl::Status fed;
  for (int64_t i = 0; fed.ok() && i < 1000; ++i) fed = Feed(outfeed, i);
  EXPECT_EQ(fed, absl::DataLossError("full"));
  EXPECT_EQ(outfeed.Drain(), absl::DataLossError("full"));
  EXPECT_EQ(outfeed.Finish(), absl::DataLossError("full"));
}

TEST(OutfeedTest, AnErrorInTheLastEntryIsSeenByDrain) {
  Outfeed outfeed(ProgramWithOneSlot(),
                  [](int64_t, const std::byte*) { return absl::DataLossError("full"); });
  ASSERT_TRUE(Feed(outfeed, 0).ok());
  EXPECT_EQ(outfeed.Drain(), absl::DataLossError("full"));
}

}  // namespace
}  // namespace tpurun
