#include "runtime/session/session.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/spec/spec.h"

namespace tpurun {
namespace {

// 16 TiB, more than any machine has.
TEST(SessionTest, VariablesThatNoMachineHoldsAreRefusedAtOnce) {
  GraphBuilder b(Graph("large", 1));
  b.AddVariable({.name = "v", .shape = {DType::kF32, {int64_t{1} << 20, int64_t{1} << 22}}});
  Session session(1, {});
  const absl::Status status = session.Load(b.Take(), {});
  EXPECT_EQ(ExitCode(status), 4) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(),
                               "does not fit in memory: want 16384.0 GiB for variables alone, "
                               "there is "))
      << status;
}

// Lines of heartbeats, each with its seconds left out.
class Heartbeats : public google::LogSink {
 public:
  Heartbeats() { google::AddLogSink(this); }
  ~Heartbeats() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity severity, const char*, const char*, int,
            const google::LogMessageTime&, const char* message, size_t length) override {
    const std::string line(message, length);
    if (severity != google::INFO || !absl::StartsWith(line, "After ")) return;
    const std::lock_guard lock(mutex_);
    lines_.insert(line.substr(line.find(" s ")));
    changed_.notify_all();
  }
  // Blocks until there is such a line.
  void WaitFor(const std::string& line) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_.count(line) > 0; });
  }
  std::set<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> lines_;
};

// Holds each batch back until the log has its line.
class HeldBack : public BatchSource {
 public:
  HeldBack(std::vector<std::string> lines, Heartbeats& log) : lines_(std::move(lines)), log_(log) {}
  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    log_.WaitFor(lines_[next_++]);
    std::fill_n(reinterpret_cast<float*>(buffers[0]), 2, 1.0f);
    return 2;
  }
  std::string Position() const override { return ""; }
  absl::Status Restore(const std::string&) override { return absl::OkStatus(); }
  std::string Where(int64_t) const override { return ""; }

 private:
  const std::vector<std::string> lines_;
  Heartbeats& log_;
  size_t next_ = 0;
};

// While the loop waits for its first batch, and for one in its middle.
TEST(SessionTest, ALongLoopSaysWhereItIs) {
  Heartbeats log;
  GraphBuilder b(Graph("doubles", 1));
  const Value x = b.AddInfeed("x", {DType::kF32, {2}});
  b.AddOutput("y", Add(b, x, x));
  Session session(1, {});
  ASSERT_EQ(session.Load(b.Take(), {.ops = OpsOfPasses()}), absl::OkStatus());
  Outfeed outfeed(session.program(), [](int64_t, const std::byte*) { return absl::OkStatus(); });
  const int64_t room = outfeed.ring().capacity();
  // Of 64 bytes an entry.
  const std::string queues =
      absl::StrCat("; infeed: 0 of 256 entries wait; outfeed: 0 of ", room, " entries wait.");
  const std::vector<std::string> lines = {" s 0 of 2 steps of this loop are done" + queues,
                                          " s 1 of 2 steps of this loop are done" + queues};
  auto infeed = Infeed::Create({{.name = "x", .shape = {DType::kF32, {}}}},
                               std::make_unique<HeldBack>(lines, log), session.program(),
                               {.batch_size = 2, .num_batches = 2});
  ASSERT_TRUE(infeed.ok()) << infeed.status();
  (*infeed)->Start();
  const RunResult result = session.RunLoop(
      {.iterations = 2, .heartbeat_period = std::chrono::milliseconds(1)}, **infeed, &outfeed);
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.steps, 2);
  EXPECT_EQ(outfeed.Finish(), absl::OkStatus());
  for (const std::string& line : lines) EXPECT_EQ(log.lines().count(line), 1u) << line;
}

}  // namespace
}  // namespace tpurun
