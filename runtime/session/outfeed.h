// Outfeed: the thread that takes what a program feeds out, in order.
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
  // `take` gets the loop index and the slots of each entry (LayoutOf(program.outfeed)), on the
  // Outfeed's thread. Its error closes the ring: the device stops with it.
  using Take = std::function<absl::Status(int64_t loop_index, const std::byte* slots)>;

  Outfeed(const CoreProgram& program, Take take);
  ~Outfeed();
  Outfeed(const Outfeed&) = delete;
  Outfeed& operator=(const Outfeed&) = delete;

  // Bytes of the ring of a program's Outfeed.
  static double RingBytes(const CoreProgram& program);

  EntryRing& ring() { return ring_; }
  // Between runs of the device: waits until everything fed out is taken. The first error of `take`.
  absl::Status Drain();
  // Once the device has stopped: takes what is left and joins. The first error of `take`.
  absl::Status Finish();

 private:
  void Run();

  const Take take_;
  EntryRing ring_;
  std::mutex mutex_;
  std::condition_variable taken_;
  absl::Status status_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_OUTFEED_H_
