// ThreadPool: threads that share the indices of a loop.
#ifndef TPURUN_DATA_THREAD_POOL_H_
#define TPURUN_DATA_THREAD_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/memory.h"

namespace tpurun {

class ThreadPool {
 public:
  // `num_threads` >= 1 includes the thread that calls ForEach. The others are started by the first
  // ForEach that has work for them.
  explicit ThreadPool(int num_threads) : num_threads_(num_threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }
  // Calls body(index, thread) once for each index in [0, count) and returns when all calls have
  // returned. `thread` is in [0, num_threads); the calling thread is 0. A thread takes the smallest
  // index that nobody has taken, so a call with a smaller index has begun before.
  void ForEach(int64_t count, const std::function<void(int64_t index, int thread)>& body);

 private:
  // Until there are `count` threads beside the caller's, or the system refuses one.
  void StartThreads(int64_t count);
  void Run(int thread);
  // Takes indices until none is left. mutex_ must be held by `lock`.
  void TakeIndices(std::unique_lock<std::mutex>& lock, int thread);

  const int num_threads_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;  // guards the fields below
  std::condition_variable begun_, ended_;
  const std::function<void(int64_t index, int thread)>* body_ = nullptr;
  const MemoryUse* use_ = nullptr;  // that of the caller, which counts for the calls of all threads
  int64_t count_ = 0;
  int64_t next_ = 0;     // the smallest index that nobody has taken
  int64_t running_ = 0;  // calls that have not returned
  bool stopping_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_THREAD_POOL_H_
