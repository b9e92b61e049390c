#include "runtime/base/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace tpurun {
namespace {

// Whether `body` holds in a child of its own.
bool HoldsInChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

void LimitAddressSpace(rlim_t bytes) {
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

TEST(MemoryBytesTest, ALimitOfTheAddressSpaceCounts) {
  EXPECT_TRUE(HoldsInChild([] {
    const int64_t unlimited = MemoryBytes();
    LimitAddressSpace(rlim_t{1} << 60);
    if (MemoryBytes() != unlimited) return false;
    LimitAddressSpace(1 << 30);
    return MemoryBytes() == 1 << 30;
  }));
}

TEST(BytesTextTest, HasTheUnitThatFits) {
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText((1 << 20) - 1), "1048575 bytes");
  EXPECT_EQ(BytesText(1 << 20), "1.0 MiB");
  EXPECT_EQ(BytesText(1.5 * (1 << 30)), "1.5 GiB");
}

// What the process may map.
size_t AddressSpaceLeft() {
  size_t bytes = size_t{1} << 30;
  for (; bytes > 0; bytes -= 1 << 20) {
    void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) continue;
    munmap(memory, bytes);
    break;
  }
  return bytes;
}

TEST(MemoryReserveTest, IsThereOnceReleased) {
  EXPECT_TRUE(HoldsInChild([] {
    constexpr size_t kReserve = 64 << 20;
    LimitAddressSpace(512 << 20);
    const size_t before = AddressSpaceLeft();
    MemoryReserve reserve(kReserve);
    const size_t held = AddressSpaceLeft();
    reserve.Release();
    return held == before - kReserve && AddressSpaceLeft() == before;
  }));
}

TEST(MemoryUseTest, TheInnermostOfTheThreadCounts) {
  EXPECT_EQ(MemoryUse::Innermost(), nullptr);
  const MemoryUse outer("the cache", "leave it out");
  {
    const MemoryUse inner("a buffer", "lower it");
    EXPECT_EQ(MemoryUse::Innermost()->what(), "a buffer");
    EXPECT_EQ(MemoryUse::Innermost()->remedy(), "lower it");
    std::thread([] { EXPECT_EQ(MemoryUse::Innermost(), nullptr); }).join();
  }
  EXPECT_EQ(MemoryUse::Innermost()->what(), "the cache");
}

}  // namespace
}  // namespace tpurun
