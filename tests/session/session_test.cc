#include "runtime/session/session.h"

#include <algorithm>
#include <atomic>
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

// Batch i is two rows of i + 1, of bucket 0 where the pattern has an 's' as character i, else of
// bucket 1. It ends with the pattern.
class Alternating : public BatchSource {
 public:
  explicit Alternating(std::string pattern) : pattern_(std::move(pattern)) {}
  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    if (next_ == pattern_.size()) return 0;
    std::fill_n(reinterpret_cast<float*>(buffers[0]), 2 * 3, static_cast<float>(++next_));
    return 2;
  }
  int bucket() const override { return pattern_[next_ - 1] == 's' ? 0 : 1; }
  std::string Position() const override { return absl::StrCat(next_); }
  absl::Status Restore(const std::string&) override { return absl::OkStatus(); }
  std::string Where(int64_t) const override { return ""; }

 private:
  const std::string pattern_;  // 's' for a short one
  size_t next_ = 0;
};

// total += the sum of x f32[2, length] + 1000 * fixed, which the prologue computes.
Graph Totals(int64_t length) {
  GraphBuilder b(Graph("totals", 1));
  const int fixed = b.AddVariable({.name = "fixed", .shape = {DType::kF32, {}}});
  const int total = b.AddVariable({.name = "total", .shape = {DType::kF32, {}}});
  const Value x = b.AddInfeed("x", {DType::kF32, {2, length}});
  const Value sum = ReduceSum(b, x);
  const Value thousands = Mul(b, b.Read(fixed), Scalar(b, 1000));
  const Value next = Add(b, b.Read(total), Add(b, sum, thousands));
  b.Update(total, next);
  b.AddOutput("sum", sum);
  b.AddOutput("every_third", next, 3);
  return b.Take();
}

class BucketsTest : public testing::TestWithParam<int> {
 protected:
  BucketsTest() : session_(GetParam(), {}) {
    EXPECT_EQ(session_.Load(Totals(3), {.ops = OpsOfPasses()}), absl::OkStatus());
    EXPECT_EQ(session_.LoadForBucket(Totals(1), {.ops = OpsOfPasses()}), absl::OkStatus());
    EXPECT_EQ(session_.num_programs(), 2);
    *Variable("fixed") = 1;
    outfeed_ = std::make_unique<Outfeed>(
        session_.program(), [this](int64_t index, const std::byte* slots) {
          const auto layout = LayoutOf(session_.program().outfeed, 1);
          indices_.push_back(index);
          sums_.push_back(*reinterpret_cast<const float*>(slots + layout.offsets[0]));
          return absl::OkStatus();
        });
  }

  float* Variable(const std::string& name) {
    return reinterpret_cast<float*>(session_.variables().FindMutable(name)->copy(0));
  }

  InfeedPtr Feed(const std::string& pattern, int64_t batches = -1) {
    auto infeed = Infeed::Create(
        {{.name = "x", .shape = {DType::kF32, {3}}}}, std::make_unique<Alternating>(pattern),
        session_.program(),
        {.batch_size = 2,
         .num_batches = batches,
         .ended_message = [](int64_t count) { return absl::StrCat("ended after ", count); },
         .buckets = {session_.ProgramOf(0).infeed, session_.ProgramOf(1).infeed}});
    EXPECT_TRUE(infeed.ok()) << infeed.status();
    (*infeed)->Start();
    return *std::move(infeed);
  }

  // Of each step, as the two programs are to compute it.
  static std::vector<float> SumsOf(const std::string& pattern) {
    std::vector<float> sums;
    for (size_t i = 0; i < pattern.size(); ++i) {
      sums.push_back(static_cast<float>(2 * (i + 1) * (pattern[i] == 's' ? 1 : 3)));
    }
    return sums;
  }

  Session session_;
  std::unique_ptr<Outfeed> outfeed_;
  std::vector<int64_t> indices_;
  std::vector<float> sums_;
};

INSTANTIATE_TEST_SUITE_P(Workers, BucketsTest, testing::Values(1, 2));

TEST_P(BucketsTest, EachBatchIsComputedByTheProgramOfItsBucket) {
  const std::string pattern = "slsslllslssl";
  const InfeedPtr infeed = Feed(pattern);
  // Two loops; what is fixed changes between them.
  RunResult result = session_.RunLoop({.iterations = 5}, *infeed, outfeed_.get());
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.steps, 5);
  *Variable("fixed") = 2;
  result = session_.RunLoop({.iterations = 7, .first_step = 5}, *infeed, outfeed_.get());
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.steps, 7);
  EXPECT_EQ(outfeed_->Finish(), absl::OkStatus());
  EXPECT_EQ(sums_, SumsOf(pattern));
  EXPECT_EQ(indices_, (std::vector<int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6}));
  float total = 5 * 1000 + 7 * 2000;
  for (const float sum : sums_) total += sum;
  EXPECT_EQ(*Variable("total"), total);
}

TEST_P(BucketsTest, TheEndOfTheInputEndsALoopBehindItsLastBatch) {
  const InfeedPtr infeed = Feed("sslss");
  const RunResult result = session_.RunLoop({.iterations = 9}, *infeed, outfeed_.get());
  EXPECT_EQ(result.status, absl::OutOfRangeError("ended after 5"));
  EXPECT_EQ(result.steps, 5);
  EXPECT_TRUE(result.between_steps);
  EXPECT_EQ(outfeed_->Finish(), absl::OkStatus());
  EXPECT_EQ(sums_, SumsOf("sslss"));
}

TEST_P(BucketsTest, AnInterruptEndsALoop) {
  const InfeedPtr infeed = Feed("slslslsl");
  const std::atomic<int> interrupt{1};
  const RunResult result =
      session_.RunLoop({.iterations = 9, .interrupt = &interrupt}, *infeed, outfeed_.get());
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(*Variable("total"), 0);
  EXPECT_EQ(outfeed_->Finish(), absl::OkStatus());
}

TEST_P(BucketsTest, HeartbeatsCountTheStepsOfTheLoop) {
  std::string pattern;
  for (int i = 0; i < 4000; ++i) pattern += "sl";
  const InfeedPtr infeed = Feed(pattern);
  std::vector<int64_t> beats;
  const RunResult result =
      session_.RunLoop({.iterations = 8000,
                        .heartbeat = [&](int64_t steps) { beats.push_back(steps); },
                        .heartbeat_period = std::chrono::milliseconds(1)},
                       *infeed, outfeed_.get());
  EXPECT_EQ(result.steps, 8000);
  EXPECT_EQ(outfeed_->Finish(), absl::OkStatus());
  ASSERT_FALSE(beats.empty());
  EXPECT_TRUE(std::is_sorted(beats.begin(), beats.end()));
  EXPECT_GT(beats.back(), 0);
  EXPECT_LE(beats.back(), 8000);
}

TEST_P(BucketsTest, AProgramOfOtherVariablesOrOutputsIsRefused) {
  GraphBuilder b(Graph("other", 1));
  const int total = b.AddVariable({.name = "total", .shape = {DType::kF32, {}}});
  b.Update(total, ReduceSum(b, b.AddInfeed("x", {DType::kF32, {2, 1}})));
  EXPECT_TRUE(absl::IsInternal(session_.LoadForBucket(b.Take(), {.ops = OpsOfPasses()})));
  const auto with_output = [](int64_t length) {
    GraphBuilder b(Graph("shown", 1));
    const Value x = b.AddInfeed("x", {DType::kF32, {2, length}});
    b.AddOutput("shown", Add(b, x, x));
    return b.Take();
  };
  Session session(GetParam(), {});
  ASSERT_EQ(session.Load(with_output(3), {.ops = OpsOfPasses()}), absl::OkStatus());
  const absl::Status status = session.LoadForBucket(with_output(1), {.ops = OpsOfPasses()});
  EXPECT_EQ(status, absl::InvalidArgumentError("output \"shown\" is f32[2,1], at the full length "
                                               "f32[2,3]; leave its summary out"));
}

}  // namespace
}  // namespace tpurun
