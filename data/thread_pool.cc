#include "data/thread_pool.h"

#include <optional>
#include <system_error>

#include "runtime/base/cpu.h"
#include "runtime/base/memory.h"
#include "runtime/base/threads.h"

namespace tpurun {

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::ForEach(int64_t count,
                         const std::function<void(int64_t index, int thread)>& body) {
  StartThreads(std::min<int64_t>(num_threads_, count) - 1);
  std::unique_lock<std::mutex> lock(mutex_);
  body_ = &body;
  use_ = MemoryUse::Innermost();
  count_ = count;
  next_ = 0;
  begun_.notify_all();
  TakeIndices(lock, 0);
  ended_.wait(lock, [this] { return running_ == 0; });
  count_ = 0;
  next_ = 0;
}

void ThreadPool::StartThreads(int64_t count) {
  try {
    while (std::ssize(threads_) < count) {
      threads_.push_back(
          StartThread([this, thread = static_cast<int>(threads_.size()) + 1] { Run(thread); }));
    }
  } catch (const std::system_error&) {  // those that there are do the work
  }
}

void ThreadPool::Run(int thread) {
  ScopedFlushDenormals flush;  // the values do not depend on the thread
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    begun_.wait(lock, [this] { return stopping_ || next_ < count_; });
    if (stopping_) return;
    std::optional<MemoryUse> use;
    if (use_ != nullptr) use.emplace(use_->what(), use_->remedy());
    TakeIndices(lock, thread);
    if (running_ == 0) ended_.notify_one();
  }
}

void ThreadPool::TakeIndices(std::unique_lock<std::mutex>& lock, int thread) {
  while (next_ < count_) {
    const int64_t index = next_++;
    ++running_;
    lock.unlock();
    (*body_)(index, thread);
    lock.lock();
    --running_;
  }
}

}  // namespace tpurun
