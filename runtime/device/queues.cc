#include "runtime/device/queues.h"

#include <chrono>
#include <cstring>
#include <new>

#include "runtime/base/dcheck.h"

namespace tpurun {
namespace {

// How often a waiting consumer checks its interrupt flag.
constexpr std::chrono::milliseconds kInterruptPeriod(20);

}  // namespace

void EntryRing::Free::operator()(std::byte* data) const {
  ::operator delete(data, std::align_val_t(4096));
}

EntryRing::EntryRing(int64_t entry_bytes, int64_t capacity, int64_t block)
    : entry_bytes_(Aligned(std::max<int64_t>(entry_bytes, 1))),
      capacity_(std::max<int64_t>(1, capacity)),
      block_(std::clamp<int64_t>(block, 1, capacity_)),
      data_(
          static_cast<std::byte*>(::operator new(entry_bytes_* capacity_, std::align_val_t(4096)))),
      kinds_(capacity_) {
  std::memset(data_.get(), 0, entry_bytes_ * capacity_);
}

absl::StatusOr<std::byte*> EntryRing::Reserve() {
  const int64_t index = committed_.load(std::memory_order_relaxed);
  if (index - consumed_.load() >= capacity_ && !closed_.load()) {
    std::unique_lock lock(mutex_);
    producer_waits_.store(true);
    changed_.wait(
        lock, [&] { return closed_.load() || capacity_ - (index - consumed_.load()) >= block_; });
    producer_waits_.store(false);
  }
  if (closed_.load()) {
    std::lock_guard lock(mutex_);
    return status_.ok() ? absl::CancelledError("the queue is closed") : status_;
  }
  return Entry(index);
}

void EntryRing::Commit(int kind) {
  // Only an entry that Reserve returned is committed: it was free.
  TPURUN_DCHECK(committed_.load() - consumed_.load() < capacity_);
  kinds_[committed_.load(std::memory_order_relaxed) % capacity_] = kind;
  committed_.fetch_add(1);
  if (!consumer_waits_.load()) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

absl::StatusOr<const std::byte*> EntryRing::Front(const std::atomic<int>* interrupt) {
  const int64_t index = consumed_.load(std::memory_order_relaxed);
  WaitUntil(std::chrono::steady_clock::time_point::max(), interrupt);
  if (committed_.load() > index) return Entry(index);
  if (!closed_.load()) return absl::CancelledError("interrupted while waiting for input");
  std::lock_guard lock(mutex_);
  return status_.ok() ? absl::OutOfRangeError("the queue has ended") : status_;
}

int EntryRing::FrontKind() const {
  TPURUN_DCHECK(depth() > 0);
  return kinds_[consumed_.load(std::memory_order_relaxed) % capacity_];
}

int64_t EntryRing::EntriesOfFrontKind(int64_t most) const {
  const int64_t first = consumed_.load(std::memory_order_relaxed);
  const int64_t end = first + std::min(most, committed() - first);
  int64_t next = first;
  while (next < end && kinds_[next % capacity_] == FrontKind()) ++next;
  return next - first;
}

bool EntryRing::WaitUntil(std::chrono::steady_clock::time_point deadline,
                          const std::atomic<int>* interrupt) {
  const int64_t index = consumed_.load(std::memory_order_relaxed);
  const auto woken = [&] {
    return committed_.load() > index || closed_.load() ||
           (interrupt != nullptr && interrupt->load() != 0);
  };
  if (woken()) return true;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  consumer_waits_.store(true);
  bool awake = false;
  do {
    awake = changed_.wait_for(lock, kInterruptPeriod, woken);
  } while (!awake && std::chrono::steady_clock::now() < deadline);
  consumer_waits_.store(false);
  waited_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  return awake;
}

void EntryRing::Pop() {
  // Only an entry that Front returned is freed.
  TPURUN_DCHECK(consumed_.load() < committed_.load());
  const int64_t consumed = consumed_.fetch_add(1) + 1;
  if (!producer_waits_.load()) return;
  if (capacity_ - (committed_.load() - consumed) < block_) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void EntryRing::Close(absl::Status status) {
  std::lock_guard lock(mutex_);
  if (closed_.load()) return;
  status_ = std::move(status);
  closed_.store(true);
  changed_.notify_all();
}

}  // namespace tpurun
