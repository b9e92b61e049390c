#include "data/thread_pool.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

TEST(ThreadPool, EachIndexIsTakenOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      pool.ForEach(count, [&](int64_t index, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        ++calls[index];
      });
      for (const std::atomic<int>& call : calls) EXPECT_EQ(call, 1);
    }
  }
}

// Each of them waits until all have begun.
TEST(ThreadPool, AllThreadsWork) {
  ThreadPool pool(3);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> begun{0};
    std::set<int> threads[3];
    pool.ForEach(3, [&](int64_t index, int thread) {
      threads[index].insert(thread);
      ++begun;
      while (begun < 3) std::this_thread::yield();
    });
    threads[0].merge(threads[1]);
    threads[0].merge(threads[2]);
    EXPECT_EQ(threads[0], (std::set<int>{0, 1, 2}));
  }
}

TEST(ThreadPool, ReturnsWhenAllCallsHave) {
  ThreadPool pool(4);
  std::atomic<int> ended{0};
  pool.ForEach(4, [&](int64_t index, int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(index * 5));
    ++ended;
  });
  EXPECT_EQ(ended, 4);
}

}  // namespace
}  // namespace tpurun
