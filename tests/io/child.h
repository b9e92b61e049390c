// Child processes of a test, for what outlives a process: files, and locks that do not.
#ifndef TPURUN_TESTS_IO_CHILD_H_
#define TPURUN_TESTS_IO_CHILD_H_

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "gtest/gtest.h"

namespace tpurun {

// Runs `body` in a copy of this process, which must have no other threads. The copy ends as a kill
// would end it: what `body` does not destroy is not destroyed.
inline pid_t StartChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  body();
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}

inline void WaitForChild(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

inline void RunInChild(const std::function<void()>& body) { WaitForChild(StartChild(body)); }

}  // namespace tpurun

#endif  // TPURUN_TESTS_IO_CHILD_H_
