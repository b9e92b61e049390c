// EntryRing: the infeed and outfeed queues, rings of step-sized entries between one host thread and
// the device. Each side blocks while the ring is empty or full; Close wakes both, for good.
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

// A ring of `capacity` entries of `entry_bytes` (64-byte aligned, zero at first). Single producer,
// single consumer. The consumer frees entries with one atomic each; the producer is woken only when
// a block of `block` entries is free, the consumer as soon as there is one entry.
class EntryRing {
 public:
  EntryRing(int64_t entry_bytes, int64_t capacity, int64_t block);

  // Producer: the next free entry; blocks while the ring is full. After Close: its status (a closed
  // ring with an OK status gives Cancelled).
  absl::StatusOr<std::byte*> Reserve();
  // Of the entry that Reserve gave.
  void Commit();
  // Consumer: the oldest entry; blocks while the ring is empty. After Close, the entries that were
  // committed are still handed out, then its status (OutOfRange when closed with OK: the end).
  // While it waits, a non-zero `interrupt` gives Cancelled. `interrupt` may be null.
  absl::StatusOr<const std::byte*> Front(const std::atomic<int>* interrupt = nullptr);
  // Consumer: waits for what Front returns at, but no longer than until `deadline`; whether Front
  // would return at once.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline,
                 const std::atomic<int>* interrupt = nullptr);
  // Frees the entry that Front gave.
  void Pop();
  // Either side, any thread. The first call's status holds.
  void Close(absl::Status status);

  int64_t committed() const { return committed_.load(std::memory_order_acquire); }
  int64_t consumed() const { return consumed_.load(std::memory_order_acquire); }
  int64_t capacity() const { return capacity_; }
  // Entries that wait to be taken.
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
  std::atomic<int64_t> committed_{0};
  std::atomic<int64_t> consumed_{0};
  std::atomic<bool> producer_waits_{false}, consumer_waits_{false}, closed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status status_;  // guarded by mutex_
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_QUEUES_H_
