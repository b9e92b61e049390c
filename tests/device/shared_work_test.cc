#include "runtime/device/shared_work.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

using std::chrono::milliseconds;

// The objects are on the heap: GCC 12's address sanitizer aligns variables on the stack to 32
// bytes.

std::vector<int> ClaimAll(SharedWork& work, const SharedWork::Phase& phase, int worker, int owner) {
  std::vector<int> units;
  for (int unit; (unit = work.Claim(phase, worker, owner)) >= 0;) units.push_back(unit);
  return units;
}

TEST(SharedWork, OwnersClaimFromTheBeginOthersFromTheEnd) {
  const auto owned = std::make_unique<SharedWork>(2, true);
  SharedWork& work = *owned;
  work.Begin(5);
  const SharedWork::Phase phase = work.Wait(0, 0);
  EXPECT_EQ(phase.number, 1u);
  EXPECT_EQ(phase.units, 5);
  EXPECT_EQ(work.Claim(phase, 1, 1), 2);
  EXPECT_EQ(work.Claim(phase, 0, 1), 4);
  EXPECT_EQ(ClaimAll(work, phase, 1, 1), std::vector<int>{3});
  EXPECT_EQ(ClaimAll(work, phase, 0, 0), (std::vector<int>{0, 1}));
  EXPECT_EQ(ClaimAll(work, phase, 1, 0), std::vector<int>{});
  EXPECT_FALSE(work.Finish(3));
  EXPECT_TRUE(work.Finish(2));
}

// Worker 1 never runs: worker 0 ends the phases alone. What worker 1 still knows of the first one
// gives it nothing of the second.
TEST(SharedWork, PhasesEndWithoutAWorkerThatHasClaimedNothing) {
  const auto owned = std::make_unique<SharedWork>(2, true);
  SharedWork& work = *owned;
  work.Begin(2);
  const SharedWork::Phase first = work.Wait(0, 0);
  EXPECT_EQ(ClaimAll(work, first, 0, 0), std::vector<int>{0});
  EXPECT_EQ(ClaimAll(work, first, 0, 1), std::vector<int>{1});
  ASSERT_TRUE(work.Finish(2));
  work.Begin(2);
  const SharedWork::Phase second = work.Wait(0, first.number);
  EXPECT_EQ(work.Claim(second, 0, 0), 0);
  EXPECT_EQ(work.Claim(first, 1, 0), -1);
  EXPECT_EQ(work.Claim(second, 1, 1), 1);
  EXPECT_EQ(work.Claim(first, 1, 1), -1);
}

TEST(SharedWork, OneUnitIsThatOfTheLastOwner) {
  const auto owned = std::make_unique<SharedWork>(3, true);
  SharedWork& work = *owned;
  work.Begin(1);
  const SharedWork::Phase phase = work.Wait(0, 0);
  EXPECT_EQ(work.Claim(phase, 0, 0), -1);
  EXPECT_EQ(work.Claim(phase, 0, 1), -1);
  EXPECT_EQ(work.Claim(phase, 0, 2), 0);
}

// The other worker sees the next phase that is not one of worker 1 alone, or the end.
TEST(SharedWork, APhaseOfOneWorkerIsNotForOthers) {
  const auto owned = std::make_unique<SharedWork>(2, true);
  SharedWork& work = *owned;
  work.Begin(2, 0, 1);
  EXPECT_EQ(work.Spin(0, 0).number, 0u);
  EXPECT_EQ(work.Sleep(0, 0, milliseconds(1)).number, 0u);
  const SharedWork::Phase alone = work.Wait(1, 0);
  EXPECT_EQ(alone.number, 1u);
  EXPECT_EQ(alone.only, 1);
  EXPECT_EQ(ClaimAll(work, alone, 1, 1), std::vector<int>{1});
  EXPECT_EQ(ClaimAll(work, alone, 1, 0), std::vector<int>{0});
  ASSERT_TRUE(work.Finish(2));
  work.Begin(2);
  EXPECT_EQ(work.Wait(0, 0).number, 2u);
  EXPECT_EQ(work.Wait(0, 0).only, -1);
  EXPECT_EQ(work.Wait(1, 1).number, 2u);
}

// Worker 0 sleeps through the phases of worker 1, and the phase of both wakes it up.
TEST(SharedWork, WakesWhoHasSleptThroughPhasesOfAnother) {
  const auto owned = std::make_unique<SharedWork>(2, true);
  SharedWork& work = *owned;
  std::thread sleeper([&] { EXPECT_EQ(work.Wait(0, 0).number, 101u); });
  for (int i = 0; i < 100; ++i) {
    work.Begin(1, 0, 1);
    const SharedWork::Phase phase = work.Wait(1, i);
    EXPECT_EQ(ClaimAll(work, phase, 1, 1), std::vector<int>{0});
    ASSERT_TRUE(work.Finish(1));
    if (i == 50) std::this_thread::sleep_for(milliseconds(2));
  }
  work.Begin(1);
  sleeper.join();
}

TEST(SharedWork, SleepsNoLongerThanItMay) {
  const auto owned = std::make_unique<SharedWork>(2, true);
  SharedWork& work = *owned;
  work.Begin(1);
  const SharedWork::Phase phase = work.Wait(0, 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(work.Sleep(0, phase.number, milliseconds(3)).number, phase.number);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(3));
}

class SharedWorkOfThreads : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(All, SharedWorkOfThreads, ::testing::Bool(), [](const auto& info) {
  return info.param ? std::string("Spinning") : std::string("Sleeping");
});

// Every unit of every phase is computed once, and a phase begins when all units of the one before
// are computed.
TEST_P(SharedWorkOfThreads, ComputeEveryUnitOnce) {
  constexpr int kWorkers = 3, kPhases = 300;
  const auto owned = std::make_unique<SharedWork>(kWorkers, GetParam());
  SharedWork& work = *owned;
  std::vector<int> counts;  // of the current phase
  int phases = 0;
  const auto begin_phase = [&] {
    if (phases == kPhases) return work.End();
    counts.assign(1 + phases % 7, 0);
    ++phases;
    work.Begin(static_cast<int>(counts.size()));
  };
  begin_phase();
  const auto run = [&](int worker) {
    SharedWork::Phase phase;
    while ((phase = work.Wait(worker, phase.number)).units > 0) {
      int units = 0;
      for (int i = 0; i < kWorkers; ++i) {
        for (const int unit : ClaimAll(work, phase, worker, (worker + i) % kWorkers)) {
          ++counts[unit];
          ++units;
        }
      }
      if (units == 0 || !work.Finish(units)) continue;
      for (const int count : counts) EXPECT_EQ(count, 1);
      begin_phase();
    }
  };
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kWorkers; ++worker) threads.emplace_back(run, worker);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(phases, kPhases);
}

}  // namespace
}  // namespace tpurun
