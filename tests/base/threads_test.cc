// The signals that the threads of StartThread block, and others do not.
#include "runtime/base/threads.h"

#include <signal.h>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

bool Blocks(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(ThreadsTest, BlockSignalsAndNoFaults) {
  EXPECT_FALSE(Blocks(SIGTERM));
  bool interrupts = false, fault = true, of_another = true;
  StartThread([&] {
    interrupts = Blocks(SIGTERM) && Blocks(SIGINT) && Blocks(SIGXCPU);
    fault = Blocks(SIGSEGV);
  }).join();
  std::thread([&] { of_another = Blocks(SIGTERM); }).join();
  EXPECT_TRUE(interrupts);
  EXPECT_FALSE(fault);
  EXPECT_FALSE(of_another);
  EXPECT_FALSE(Blocks(SIGTERM));
}

}  // namespace
}  // namespace tpurun
