// The simulated fabric, and the rounds of the collectives: counted by hand, and as the fabric runs
// them.
#include "runtime/fabric/simulated_fabric.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fabric/rounds.h"
#include "runtime/fabric/thread_fabric.h"
#include "tests/fabric/collective_checks.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void RunInThreads(std::vector<std::unique_ptr<Fabric>> fabrics,
                  const std::function<void(Fabric&)>& run) {
  std::vector<std::thread> threads;
  for (std::unique_ptr<Fabric>& fabric : fabrics) {
    threads.emplace_back([&run, own = std::move(fabric)] { run(*own); });
  }
  for (std::thread& thread : threads) thread.join();
}

Collective Sum(int64_t count, int64_t element_bytes = 4) {
  return {Collective::Kind::kSum, count, element_bytes};
}

TEST(Rounds, CountedByHand) {
  // Short: the whole vector at distance 1, 2 and 4.
  EXPECT_THAT(RoundsOf(Sum(10), 0, 8), ElementsAre(Round{40, 40}, Round{40, 40}, Round{40, 40}));
  // 4096 elements of 4 bytes: halves of 2048, then quarters of 1024, and back.
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(RoundsOf(Sum(4096), rank, 4), ElementsAre(Round{8192, 8192}, Round{4096, 4096},
                                                          Round{4096, 4096}, Round{8192, 8192}));
  }
  // 3001 elements: process 0 keeps 1504, a multiple of 16, and gives 1497.
  EXPECT_THAT(RoundsOf(Sum(3001), 0, 2),
              ElementsAre(Round{4 * 1497, 4 * 1504}, Round{4 * 1504, 4 * 1497}));
  // 2 MiB: a half is one piece; 4 MiB: two pieces, and the sums come back whole.
  constexpr int64_t kMiB = 1 << 20;
  EXPECT_EQ(RoundsOf(Sum(2 * kMiB / 4), 1, 2).size(), 2u);
  EXPECT_THAT(RoundsOf(Sum(4 * kMiB / 4), 1, 2),
              ElementsAre(Round{kMiB, kMiB}, Round{kMiB, kMiB}, Round{2 * kMiB, 2 * kMiB}));
  // A gather: one value, then two.
  EXPECT_THAT(RoundsOf({Collective::Kind::kGather, 6}, 3, 4),
              ElementsAre(Round{6, 6}, Round{12, 12}));
  EXPECT_THAT(RoundsOf(Sum(0), 0, 4), IsEmpty());
  EXPECT_THAT(RoundsOf(Sum(100), 0, 1), IsEmpty());
}

TEST(Rounds, SecondsByHand) {
  const Link link = {.latency = 1e-3, .bandwidth = 1e6};
  // Four rounds, 2 * 3/4 of 16384 bytes.
  EXPECT_DOUBLE_EQ(SecondsOf(Sum(4096), 4, link), 4e-3 + 24576e-6);
  EXPECT_DOUBLE_EQ(SecondsOf(Sum(10), 8, link), 3e-3 + 120e-6);
  EXPECT_DOUBLE_EQ(SecondsOf(Sum(10), 8, {.latency = 1e-3}), 3e-3);
  EXPECT_EQ(SecondsOf(Sum(10), 1, link), 0);
}

// The exchanges that a thread's fabric runs.
TEST(Rounds, AreThoseOfTheFabric) {
  static thread_local std::vector<Round> run;
  const auto record = [](auto, size_t sent, size_t received) {
    run.push_back({static_cast<int64_t>(sent), static_cast<int64_t>(received)});
  };
  for (const int size : {2, 4, 16}) {
    RunInThreads(MakeThreadFabrics(size, record), [size](Fabric& fabric) {
      for (const int64_t n : {1, 15, 1024, 1025, 2048, 2049, 2050, 3001, 600001, 2097153}) {
        std::vector<int64_t> x(n);
        std::vector<float> y(n);
        run.clear();
        ASSERT_TRUE(fabric.AllReduceSum(x.data(), x.data(), n).ok());
        EXPECT_EQ(run, RoundsOf(Sum(n, 8), fabric.rank(), size)) << n;
        run.clear();
        ASSERT_TRUE(fabric.AllReduceSum(y.data(), y.data(), n).ok());
        EXPECT_EQ(run, RoundsOf(Sum(n), fabric.rank(), size)) << n;
      }
      for (const int64_t bytes : {0, 1, 5000}) {
        std::vector<std::byte> all(bytes * size);
        run.clear();
        ASSERT_TRUE(fabric.AllGather(all.data(), bytes, all.data()).ok());
        EXPECT_EQ(run, RoundsOf({Collective::Kind::kGather, bytes}, fabric.rank(), size)) << bytes;
      }
      // Frees its memory: a leak check may look before the thread has ended.
      std::vector<Round>().swap(run);
    });
  }
}

TEST(SimulatedFabric, GivesTheBitsOfATreeOverItsRanks) {
  for (const int size : {2, 8}) {
    RunInThreads(MakeSimulatedFabrics(size, {.latency = 1e-6, .bandwidth = 1e9}),
                 [](Fabric& fabric) { EXPECT_THAT(CheckCollectives(fabric, 2, 3000), IsEmpty()); });
  }
}

TEST(SimulatedFabric, TakesAtLeastTheTimeOfItsLink) {
  for (const Link& link :
       {Link{.latency = 2e-3}, Link{.bandwidth = 2e6}, Link{.latency = 1e-5, .bandwidth = 1e7}}) {
    RunInThreads(MakeSimulatedFabrics(4, link), [&link](Fabric& fabric) {
      for (const int64_t n : {10, 4096}) {
        std::vector<float> x(n);
        const auto begin = std::chrono::steady_clock::now();
        ASSERT_TRUE(fabric.AllReduceSum(x.data(), x.data(), n).ok());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        EXPECT_GE(seconds.count(), SecondsOf(Sum(n), 4, link)) << n;
      }
    });
  }
}

TEST(SimulatedFabric, AbortEndsTheOthers) {
  RunInThreads(MakeSimulatedFabrics(4, {.latency = 1e-3}), [](Fabric& fabric) {
    float x = 1;
    if (fabric.rank() == 2) fabric.Abort(absl::DataLossError("a damaged file"));
    const absl::Status status = fabric.AllReduceSum(&x, &x, 1);
    EXPECT_EQ(status.message(), "process 2 ended the run: a damaged file");
  });
}

TEST(SimulatedFabric, AProcessThatHasEndedIsUnavailable) {
  RunInThreads(MakeSimulatedFabrics(2, {.latency = 1e-3}), [](Fabric& fabric) {
    if (fabric.rank() == 1) return;
    float x = 1;
    const absl::Status status = fabric.AllReduceSum(&x, &x, 1);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 has ended"));
  });
}

}  // namespace
}  // namespace tpurun
