// Outfeed: the thread that takes the entries that a program feeds out, in order.
#ifndef TPURUN_RUNTIME_SESSION_OUTFEED_H_
#define TPURUN_RUNTIME_SESSION_OUTFEED_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "runtime/device/device.h"
#include "runtime/device/queues.h"

namespace tpurun {

class Outfeed {
 public:
  // `on_entry` receives the loop index and the slots of each entry (LayoutOf(program.outfeed)), on
  // the Outfeed's thread. Its error closes the ring and thereby stops the device.
  using OnEntry = std::function<absl::Status(int64_t loop_index, const std::byte* slots)>;

  Outfeed(const CoreProgram& program, OnEntry on_entry);
  ~Outfeed();
  Outfeed(const Outfeed&) = delete;
  Outfeed& operator=(const Outfeed&) = delete;

  // Bytes of the ring of a program's Outfeed.
  static double RingBytes(const CoreProgram& program);

  EntryRing& ring() { return ring_; }
  // Between runs of the device: waits until every entry is taken. Returns the first error of
  // `on_entry`.
  absl::Status Drain();
  // After the device has stopped: takes the remaining entries and joins the thread. Returns the
  // first error of `on_entry`.
  absl::Status Finish();

 private:
  void Run();

  const OnEntry on_entry_;
  EntryRing ring_;
  std::mutex mutex_;
  std::condition_variable taken_;
  absl::Status status_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_OUTFEED_H_
