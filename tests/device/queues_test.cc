#include "runtime/device/queues.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/base/dcheck.h"

namespace tpurun {
namespace {

void Produce(EntryRing& ring, int64_t value) {
  auto entry = ring.Reserve();
  ASSERT_TRUE(entry.ok()) << entry.status();
  std::memcpy(*entry, &value, sizeof(value));
  ring.Commit();
}

int64_t FrontValue(EntryRing& ring) {
  auto entry = ring.Front();
  EXPECT_TRUE(entry.ok()) << entry.status();
  int64_t value = -1;
  if (entry.ok()) std::memcpy(&value, *entry, sizeof(value));
  return value;
}

TEST(EntryRing, HandsOverEveryEntryInOrder) {
  constexpr int64_t kEntries = 20000;
  for (const auto& [capacity, block] : {std::pair(1, 1), std::pair(4, 2), std::pair(64, 16)}) {
    EntryRing ring(8, capacity, block);
    std::thread producer([&] {
      for (int64_t i = 0; i < kEntries; ++i) Produce(ring, i);
    });
    for (int64_t i = 0; i < kEntries; ++i) {
      ASSERT_EQ(FrontValue(ring), i);
      ring.Pop();
    }
    producer.join();
    EXPECT_EQ(ring.consumed(), kEntries);
  }
}

TEST(EntryRing, EntriesKeepTheirKinds) {
  EntryRing ring(8, 4, 1);
  int64_t next = 0;
  const auto commit = [&](int kind) {
    ASSERT_TRUE(ring.Reserve().ok());
    ring.Commit(kind);
    ++next;
  };
  for (const int kind : {0, 2, 2, 1}) commit(kind);
  EXPECT_EQ(ring.FrontKind(), 0);
  EXPECT_EQ(ring.EntriesOfFrontKind(100), 1);
  ring.Pop();
  EXPECT_EQ(ring.FrontKind(), 2);
  EXPECT_EQ(ring.EntriesOfFrontKind(100), 2);
  EXPECT_EQ(ring.EntriesOfFrontKind(1), 1);
  ring.Pop();
  ring.Pop();
  // Beyond the end of the memory, and up to the last entry committed.
  for (int i = 0; i < 3; ++i) commit(1);
  EXPECT_EQ(ring.FrontKind(), 1);
  EXPECT_EQ(ring.EntriesOfFrontKind(100), 4);
  EXPECT_EQ(next, 7);
}

TEST(EntryRing, ClosedQueueWakesAWaitingConsumer) {
  EntryRing ring(8, 2, 1);
  std::thread closer([&] { ring.Close(absl::DataLossError("damaged")); });
  EXPECT_EQ(ring.Front().status(), absl::DataLossError("damaged"));
  closer.join();
}

TEST(EntryRing, AWaitEndsAtItsDeadlineOrOnceFrontWouldReturn) {
  const auto past = std::chrono::steady_clock::now();
  const auto never = std::chrono::steady_clock::time_point::max();
  EntryRing ring(8, 2, 1);
  EXPECT_FALSE(ring.WaitUntil(past));
  EXPECT_EQ(ring.depth(), 0);
  std::atomic<int> interrupt{1};
  EXPECT_TRUE(ring.WaitUntil(never, &interrupt));
  std::thread producer([&] { Produce(ring, 5); });
  EXPECT_TRUE(ring.WaitUntil(never));
  producer.join();
  EXPECT_EQ(ring.depth(), 1);
  EXPECT_TRUE(ring.WaitUntil(past));
  EXPECT_EQ(FrontValue(ring), 5);
  ring.Pop();
  EXPECT_EQ(ring.depth(), 0);
  ring.Close(absl::OkStatus());
  EXPECT_TRUE(ring.WaitUntil(never));
}

TEST(EntryRing, ClosedQueueWakesAWaitingProducer) {
  EntryRing ring(8, 1, 1);
  Produce(ring, 1);
  std::thread closer([&] { ring.Close(absl::OkStatus()); });
  EXPECT_EQ(ring.Reserve().status().code(), absl::StatusCode::kCancelled);
  closer.join();
}

TEST(EntryRing, EntriesCommittedBeforeTheCloseAreStillHandedOut) {
  EntryRing ring(8, 4, 1);
  Produce(ring, 1);
  Produce(ring, 2);
  ring.Close(absl::OkStatus());
  EXPECT_EQ(FrontValue(ring), 1);
  ring.Pop();
  EXPECT_EQ(FrontValue(ring), 2);
  ring.Pop();
  EXPECT_EQ(ring.Front().status().code(), absl::StatusCode::kOutOfRange);
}

TEST(EntryRing, TheFirstCloseStays) {
  EntryRing ring(8, 4, 1);
  ring.Close(absl::DataLossError("first"));
  ring.Close(absl::AbortedError("second"));
  EXPECT_EQ(ring.Front().status(), absl::DataLossError("first"));
}

TEST(EntryRing, AnInterruptWakesAWaitingConsumer) {
  EntryRing ring(8, 4, 1);
  std::atomic<int> interrupt{0};
  std::thread signal([&] { interrupt.store(1); });
  EXPECT_EQ(ring.Front(&interrupt).status().code(), absl::StatusCode::kCancelled);
  signal.join();
}

TEST(EntryRingDeathTest, OnlyWhatWasHandedOutIsGivenBack) {
  if (!kDchecksAreOn) GTEST_SKIP() << "built without DCHECKs";
  EntryRing ring(8, 1, 1);
  EXPECT_DEATH(ring.Pop(), "DCHECK failed: consumed_");
  Produce(ring, 1);
  EXPECT_DEATH(ring.Commit(), "DCHECK failed: committed_");
}

}  // namespace
}  // namespace tpurun
