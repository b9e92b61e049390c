// The signals that threads block which are started while ScopedBlockedSignals lives, and others.
#include "runtime/base/blocked_signals.h"

#include <signal.h>

#include <thread>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

bool Blocks(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(BlockedSignalsTest, OfThreadsThatAreStartedMeanwhile) {
  EXPECT_FALSE(Blocks(SIGTERM));
  bool started_before = true, started_meanwhile = false, fault = true;
  {
    std::thread other([&] { started_before = Blocks(SIGTERM); });
    const ScopedBlockedSignals blocked;
    std::thread meanwhile([&] {
      started_meanwhile = Blocks(SIGTERM) && Blocks(SIGINT) && Blocks(SIGXCPU);
      fault = Blocks(SIGSEGV);
    });
    EXPECT_TRUE(Blocks(SIGTERM));
    meanwhile.join();
    other.join();
  }
  EXPECT_FALSE(Blocks(SIGTERM));
  EXPECT_FALSE(started_before);
  EXPECT_TRUE(started_meanwhile);
  EXPECT_FALSE(fault);
}

}  // namespace
}  // namespace tpurun
