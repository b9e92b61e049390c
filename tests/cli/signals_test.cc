#include "cli/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/io/file.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

// The exit code of a child that runs `body` and then exits with what it returns; -1 if a signal
// killed it.
int ExitCodeOf(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SignalsTest, TheFirstInterruptOnlyCounts) {
  EXPECT_EQ(ExitCodeOf([] {
              InstallSignalHandlers(OnInterrupt::kFinishStep);
              if (InterruptCount() != 0) return 9;
              raise(SIGTERM);
              return InterruptCount().load();
            }),
            1);
}

TEST(SignalsTest, TheSecondInterruptEndsTheProcess) {
  EXPECT_EQ(ExitCodeOf([] {
              InstallSignalHandlers(OnInterrupt::kFinishStep);
              raise(SIGTERM);
              raise(SIGINT);
              return 0;
            }),
            130);
  EXPECT_EQ(ExitCodeOf([] {
              InstallSignalHandlers(OnInterrupt::kFinishStep);
              raise(SIGINT);
              raise(SIGTERM);
              return 0;
            }),
            143);
}

TEST(SignalsTest, WhatAnInterruptDoesCanChangeLater) {
  EXPECT_EQ(ExitCodeOf([] {
              InstallSignalHandlers(OnInterrupt::kExit);
              InstallSignalHandlers(OnInterrupt::kFinishStep);
              raise(SIGTERM);
              return InterruptCount().load();
            }),
            1);
}

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};

TEST(SignalsTest, EachIsAnInterrupt) {
  for (const int number : kInterrupts) {
    EXPECT_EQ(ExitCodeOf([&] {
                InstallSignalHandlers(OnInterrupt::kFinishStep);
                raise(number);
                return InterruptCount().load();
              }),
              1)
        << number;
  }
}

TEST(SignalsTest, OtherVerbsEndAtTheFirst) {
  for (const int number : kInterrupts) {
    EXPECT_EQ(ExitCodeOf([&] {
                InstallSignalHandlers(OnInterrupt::kExit);
                raise(number);
                return 0;
              }),
              128 + number);
  }
}

TEST(SignalsTest, EachEndsTheProcessAsTheSecond) {
  for (const int number : {SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    EXPECT_EQ(ExitCodeOf([&] {
                InstallSignalHandlers(OnInterrupt::kFinishStep);
                raise(SIGTERM);
                raise(number);
                return 0;
              }),
              128 + number);
  }
}

// As the system sends it, each second of processor time, while the training saves.
TEST(SignalsTest, ALimitOnProcessorTimeIsNoSecondInterrupt) {
  EXPECT_EQ(ExitCodeOf([] {
              InstallSignalHandlers(OnInterrupt::kFinishStep);
              raise(SIGXCPU);
              usleep(600 * 1000);
              raise(SIGXCPU);
              return InterruptCount().load();
            }),
            1);
  EXPECT_EQ(ExitCodeOf([] {
              InstallSignalHandlers(OnInterrupt::kFinishStep);
              raise(SIGXCPU);
              raise(SIGTERM);
              return 0;
            }),
            143);
}

TEST(SignalsTest, WhatIsIgnoredAtTheStartStaysSo) {
  for (const int number : kInterrupts) {
    EXPECT_EQ(ExitCodeOf([&] {
                signal(number, SIG_IGN);
                for (const OnInterrupt on : {OnInterrupt::kExit, OnInterrupt::kFinishStep}) {
                  InstallSignalHandlers(on);
                  raise(number);
                }
                return InterruptCount().load();
              }),
              0)
        << number;
  }
}

TEST(SignalsTest, OnlyTheInterruptThatEndsTheProcessRemovesUnfinishedFiles) {
  const TempDir dir;
  const std::string path = dir.Path("unfinished");
  ASSERT_TRUE(WriteFileAtomically(path, "half").ok());
  const auto interrupted = [&](int times) {
    return ExitCodeOf([&] {
      InstallSignalHandlers(OnInterrupt::kFinishStep);
      RemoveOnInterrupt({dir.Path("not there"), path});
      if (times > 0) raise(SIGINT);
      if (times > 1) raise(SIGTERM);
      return 0;
    });
  };
  EXPECT_EQ(interrupted(1), 0);
  EXPECT_TRUE(FileExists(path));
  EXPECT_EQ(interrupted(2), 143);
  EXPECT_FALSE(FileExists(path));
}

// A second thread gets the interrupt while the first one writes file after file. What is removed
// last takes some time.
TEST(SignalsTest, NoFileIsBegunAfterItWasRemoved) {
  const TempDir dir;
  const std::string path = dir.Path("unfinished");
  std::vector<std::string> paths(100000, dir.Path("not there"));
  paths.front() = path;
  EXPECT_EQ(ExitCodeOf([&] {
              InstallSignalHandlers(OnInterrupt::kExit);
              RemoveOnInterrupt(paths);
              std::thread other([] { raise(SIGTERM); });
              while (true) close(open(path.c_str(), O_CREAT | O_WRONLY, 0666));
              return 0;
            }),
            143);
  EXPECT_FALSE(FileExists(path));
}

TEST(SignalsTest, AClosedPipeAndAFileThatMayNotGrowDoNotKill) {
  EXPECT_EQ(ExitCodeOf([] {
              InstallSignalHandlers(OnInterrupt::kExit);
              raise(SIGPIPE);
              raise(SIGXFSZ);
              return 7;
            }),
            7);
}

}  // namespace
}  // namespace tpurun
