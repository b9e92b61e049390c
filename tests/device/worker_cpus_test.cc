#include "runtime/device/worker_cpus.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/cpu.h"

namespace tpurun {
namespace {

using std::chrono::milliseconds;

class WorkerCpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpus_.size() < 2) GTEST_SKIP() << "needs two CPUs";
    cpus_.resize(2);
  }

  std::vector<int> cpus_ = AllowedCpus();
};

// Another thread takes half of the time of worker 1's CPU. Worker 0 lends its own as soon as it
// finds that worker 1 does not run. Afterwards worker 1 is bound to its own CPU again.
TEST_F(WorkerCpusTest, AWorkerThatTheSystemHasStoppedGetsTheCpuOfOneThatWaits) {
  WorkerCpus cpus(cpus_);
  std::atomic<bool> is_bound{false}, was_elsewhere{false};
  std::thread other([&] {
    PinThread(pthread_self(), cpus_[1]);
    while (!was_elsewhere) {
    }
  });
  std::thread worker([&] {
    cpus.Bind(1);
    cpus.SetComputes(1, true);
    is_bound = true;
    while (sched_getcpu() != cpus_[0]) {
    }
    was_elsewhere = true;
    cpus.SetComputes(1, false);
    cpus.Return(1);
    EXPECT_EQ(sched_getcpu(), cpus_[1]);
  });
  std::thread waits([&] {
    cpus.Bind(0);
    while (!is_bound) std::this_thread::sleep_for(milliseconds(1));
    while (!was_elsewhere) {
      cpus.Watch(0);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      cpus.Lend(0);
    }
  });
  for (std::thread* thread : {&other, &worker, &waits}) thread->join();
}

// A worker that does not compute may sleep.
TEST_F(WorkerCpusTest, AWorkerThatDoesNotComputeKeepsItsCpu) {
  WorkerCpus cpus(cpus_);
  std::atomic<int> stage{0};
  std::thread worker([&] {
    cpus.Bind(1);
    stage = 1;
    while (stage == 1) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(sched_getcpu(), cpus_[1]);
  });
  std::thread waits([&] {
    cpus.Bind(0);
    while (stage == 0) std::this_thread::sleep_for(milliseconds(1));
    for (int i = 0; i < 5; ++i) {
      cpus.Watch(0);
      std::this_thread::sleep_for(milliseconds(1));
      cpus.Lend(0);
    }
    stage = 2;
  });
  worker.join();
  waits.join();
}

TEST_F(WorkerCpusTest, AnUnboundWorkerMayRunOnEveryCpuUntilItReturns) {
  WorkerCpus cpus(cpus_);
  std::thread worker([&] {
    const auto count = [] {
      cpu_set_t set;
      EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
      return CPU_COUNT(&set);
    };
    cpus.Bind(1);
    EXPECT_EQ(count(), 1);
    cpus.Unbind(1);
    EXPECT_EQ(count(), 2);
    cpus.Return(1);
    EXPECT_EQ(count(), 1);
    EXPECT_EQ(sched_getcpu(), cpus_[1]);
  });
  worker.join();
}

}  // namespace
}  // namespace tpurun
