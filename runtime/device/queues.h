// EntryRing: the infeed and outfeed queues. A queue is a ring of entries, one per step, between one
// host thread and the device. Each side blocks while the ring is empty or full. Close wakes both
// sides permanently.
#ifndef TPURUN_RUNTIME_DEVICE_QUEUES_H_
#define TPURUN_RUNTIME_DEVICE_QUEUES_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// A ring of `capacity` entries of `entry_bytes` bytes each, 64-byte aligned and initially zero. It
// has a single producer and a single consumer. The consumer frees each entry with one atomic. The
// producer is woken only when `block` entries are free, the consumer as soon as there is one entry.
class EntryRing {
 public:
  EntryRing(int64_t entry_bytes, int64_t capacity, int64_t block);

  // Producer: returns the next free entry. Blocks while the ring is full. After Close it returns
  // Close's status, or Cancelled if that status is OK.
  absl::StatusOr<std::byte*> Reserve();
  // Producer: hands over the entry that Reserve returned. `kind` is for the consumer.
  void Commit(int kind = 0);
  // Consumer: returns the oldest entry. Blocks while the ring is empty. After Close it first
  // returns the entries that were committed, then Close's status, or OutOfRange (the end) if that
  // status is OK. Returns Cancelled if `interrupt` becomes non-zero while it waits. `interrupt` may
  // be nullptr.
  absl::StatusOr<const std::byte*> Front(const std::atomic<int>* interrupt = nullptr);
  // Consumer: waits until Front would return at once, but no longer than until `deadline`. Returns
  // true if Front would return at once.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline,
                 const std::atomic<int>* interrupt = nullptr);
  // Consumer: the kind of the entry that Front would return at once.
  int FrontKind() const;
  // Consumer: how many of the committed entries from that one on have its kind, at most `most`.
  int64_t EntriesOfFrontKind(int64_t most) const;
  // The time that the consumer has waited for entries.
  std::chrono::nanoseconds waited() const { return std::chrono::nanoseconds(waited_.load()); }
  // Frees the entry that Front returned.
  void Pop();
  // May be called by either side and any thread. The status of the first call counts.
  void Close(absl::Status status);

  int64_t committed() const { return committed_.load(std::memory_order_acquire); }
  int64_t consumed() const { return consumed_.load(std::memory_order_acquire); }
  int64_t capacity() const { return capacity_; }
  // The number of committed entries that are not consumed yet.
  int64_t depth() const {
    const int64_t taken = consumed();
    return committed() - taken;
  }

 private:
  std::byte* Entry(int64_t index) { return data_.get() + (index % capacity_) * entry_bytes_; }

  const int64_t entry_bytes_, capacity_, block_;
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::vector<int> kinds_;  // of each entry of data_
  std::atomic<int64_t> committed_{0};
  std::atomic<int64_t> consumed_{0};
  std::atomic<int64_t> waited_{0};  // nanoseconds
  std::atomic<bool> producer_waits_{false}, consumer_waits_{false}, closed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status status_;  // guarded by mutex_
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_QUEUES_H_
