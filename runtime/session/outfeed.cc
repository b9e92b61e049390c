#include "runtime/session/outfeed.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/threads.h"

namespace tpurun {
namespace {

// Returns the number of entries of the ring: 2 to 64, within 1 MiB if possible, so that the device
// need not wait for the host after each step.
int64_t Capacity(int64_t entry_bytes) {
  return std::clamp<int64_t>((1 << 20) / std::max<int64_t>(entry_bytes, 1), 2, 64);
}

}  // namespace

double Outfeed::RingBytes(const CoreProgram& program) {
  const int64_t entry_bytes = OutfeedEntryBytes(program);
  return static_cast<double>(entry_bytes) * static_cast<double>(Capacity(entry_bytes));
}

Outfeed::Outfeed(const CoreProgram& program, OnEntry on_entry)
    : on_entry_(std::move(on_entry)),
      ring_(OutfeedEntryBytes(program), Capacity(OutfeedEntryBytes(program)), 1),
      thread_(StartThread([this] { Run(); })) {}

Outfeed::~Outfeed() { (void)Finish(); }

absl::Status Outfeed::Drain() {
  std::unique_lock lock(mutex_);
  taken_.wait(lock, [&] { return !status_.ok() || ring_.consumed() == ring_.committed(); });
  return status_;
}

absl::Status Outfeed::Finish() {
  ring_.Close(absl::OkStatus());
  if (thread_.joinable()) thread_.join();
  return status_;
}

void Outfeed::Run() {
  while (true) {
    const absl::StatusOr<const std::byte*> entry = ring_.Front();
    if (!entry.ok()) return;  // the ring is closed
    int64_t loop_index = 0;
    std::memcpy(&loop_index, *entry, sizeof(loop_index));
    const absl::Status status = on_entry_(loop_index, *entry + kOutfeedHeaderBytes);
    if (!status.ok()) ring_.Close(status);
    std::lock_guard lock(mutex_);
    status_ = status;
    if (status.ok()) ring_.Pop();
    taken_.notify_all();
    if (!status.ok()) return;
  }
}

}  // namespace tpurun
