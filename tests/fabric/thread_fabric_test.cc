#include "runtime/fabric/thread_fabric.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fabric/collective_checks.h"

namespace tpurun {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs the function in a thread for each process, which ends its fabric.
void RunProcesses(int size, const std::function<void(Fabric&)>& run) {
  std::vector<std::thread> threads;
  for (std::unique_ptr<Fabric>& fabric : MakeThreadFabrics(size)) {
    threads.emplace_back([&run, own = std::move(fabric)] { run(*own); });
  }
  for (std::thread& thread : threads) thread.join();
}

class ThreadFabrics : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, ThreadFabrics, ::testing::Values(1, 2, 4, 8, 32),
                         [](const auto& info) { return "Of" + std::to_string(info.param); });

TEST_P(ThreadFabrics, GiveTheBitsOfATreeOverTheirRanks) {
  const int size = GetParam();
  RunProcesses(size, [size](Fabric& fabric) {
    EXPECT_EQ(fabric.size(), size);
    EXPECT_EQ(fabric.is_chief(), fabric.rank() == 0);
    EXPECT_THAT(CheckCollectives(fabric, 4, 40000 / (size * size) + 4000), IsEmpty());
  });
}

// Long enough for several pieces of both halves.
TEST(ThreadFabric, AddsLongVectors) {
  RunProcesses(2, [](Fabric& fabric) {
    for (const int64_t n : {2097152, 1600001}) {
      std::vector<int64_t> x(n), sum(n);
      for (int64_t i = 0; i < n; ++i) x[i] = i * (fabric.rank() + 1);
      ASSERT_TRUE(fabric.AllReduceSum(x.data(), sum.data(), n).ok());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(sum[i], 3 * i);
    }
  });
}

TEST(ThreadFabric, AbortWakesEveryWaiterAndEveryLaterCallFails) {
  RunProcesses(8, [](Fabric& fabric) {
    float x = 1;
    if (fabric.rank() == 5) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      fabric.Abort(absl::DataLossError("a damaged file"));
    }
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = fabric.AllReduceSum(&x, &x, 1);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(status.message(), "process 5 ended the run: a damaged file");
    }
  });
}

// Aborts while spans are copied: no thread reads a vector that its owner has freed.
TEST(ThreadFabric, AbortInTheMiddleOfLongMessages) {
  for (int i = 0; i < 20; ++i) {
    RunProcesses(4, [i](Fabric& fabric) {
      if (fabric.rank() == 0) {
        std::thread([&fabric, i] {
          std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
          fabric.Abort(absl::InternalError("enough"));
        }).join();
        return;
      }
      absl::Status status;
      while (status.ok()) {
        std::vector<float> x(100000, 1.0f);
        status = fabric.AllReduceSum(x.data(), x.data(), static_cast<int64_t>(x.size()));
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    });
  }
}

TEST(ThreadFabric, AProcessThatHasEndedIsUnavailable) {
  RunProcesses(4, [](Fabric& fabric) {
    float x = 1;
    EXPECT_TRUE(fabric.AllReduceSum(&x, &x, 1).ok());
    if (fabric.rank() == 3) return;
    const absl::Status status = fabric.AllReduceSum(&x, &x, 1);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr(" has ended"));
    EXPECT_EQ(fabric.AllReduceSum(&x, &x, 1), status);
    EXPECT_EQ(fabric.AllGatherText("").status(), status);
    EXPECT_EQ(fabric.FirstError(absl::OkStatus()), status);
    EXPECT_EQ(fabric.FirstError(absl::DataLossError("own")), absl::DataLossError("own"));
  });
}

TEST(ThreadFabric, OneThatEndsEarlyDoesNotDisturbWhatItHasNoPartIn) {
  RunProcesses(4, [](Fabric& fabric) {
    int32_t value = fabric.is_chief() ? 7 : 0;
    EXPECT_TRUE(fabric.Broadcast(&value, sizeof(value)).ok());
    EXPECT_EQ(value, 7);
  });
}

}  // namespace
}  // namespace tpurun
