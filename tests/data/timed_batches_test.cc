// Batches of the rows that come in time: what they hold, when they end, and that a silent source
// blocks nobody.
#include "data/timed_batches.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Numbers that a test writes, as a pipe does.
class Pipe {
 public:
  void Write(int count) {
    const std::lock_guard lock(mutex_);
    written_ += count;
    changed_.notify_all();
  }
  void End(absl::Status status = absl::OkStatus()) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    status_ = std::move(status);
    changed_.notify_all();
  }
  // The next number: 0, 1, ... -1 at the end.
  absl::StatusOr<int> Read() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return read_ < written_ || ended_; });
    if (read_ < written_) return read_++;
    if (!status_.ok()) return status_;
    return -1;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int written_ = 0, read_ = 0;
  bool ended_ = false;
  absl::Status status_;
};

// One number a batch, as a feature and as a forwarded one.
class PipeRows : public BatchSource {
 public:
  explicit PipeRows(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    const absl::StatusOr<int> number = pipe_->Read();
    if (!number.ok()) return number.status();
    if (*number < 0) return 0;
    number_ = *number;
    std::memcpy(buffers[0], &number_, sizeof(number_));
    return 1;
  }
  std::string Position() const override { return "here"; }
  absl::Status Restore(const std::string& position) override { return absl::OkStatus(); }
  std::vector<HostFeature> Forwarded() const override {
    return {{.name = "text", .strings = {absl::StrCat("row ", number_)}}};
  }
  std::string Where(int64_t row) const override { return absl::StrCat("pipe:", number_ + 1); }

 private:
  const std::shared_ptr<Pipe> pipe_;
  int number_ = 0;
};

class TimedBatchesTest : public ::testing::Test {
 protected:
  static constexpr int kBatch = 4;

  void Open(milliseconds max_wait) {
    batches_ = MakeTimedBatches(std::make_unique<PipeRows>(pipe_),
                                {.features = {{.name = "number", .shape = {DType::kS32, {}}}},
                                 .batch_size = kBatch,
                                 .max_wait = max_wait});
  }
  // The numbers of the next batch.
  std::vector<int> Next() {
    int buffer[kBatch] = {-1, -1, -1, -1};
    std::byte* const buffers[] = {reinterpret_cast<std::byte*>(buffer)};
    const absl::StatusOr<int64_t> rows = batches_->Next(buffers);
    EXPECT_TRUE(rows.ok()) << rows.status();
    EXPECT_TRUE(std::all_of(buffer + *rows, buffer + kBatch, [](int rest) { return rest == -1; }));
    return {buffer, buffer + *rows};
  }
  absl::Status NextError() {
    int buffer[kBatch];
    std::byte* const buffers[] = {reinterpret_cast<std::byte*>(buffer)};
    return batches_->Next(buffers).status();
  }

  const std::shared_ptr<Pipe> pipe_ = std::make_shared<Pipe>();
  std::unique_ptr<BatchSource> batches_;
};

using Numbers = std::vector<int>;

TEST_F(TimedBatchesTest, AFullBatchDoesNotWait) {
  Open(std::chrono::hours(1));
  pipe_->Write(9);
  EXPECT_EQ(Next(), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(Next(), (Numbers{4, 5, 6, 7}));
  EXPECT_EQ(batches_->Where(3), "pipe:8");
  EXPECT_EQ(batches_->Where(4), "the start of the input");
  const std::vector<HostFeature> forwarded = batches_->Forwarded();
  ASSERT_EQ(forwarded.size(), 1u);
  EXPECT_EQ(forwarded[0].strings, (std::vector<std::string>{"row 4", "row 5", "row 6", "row 7"}));
  pipe_->End();
  EXPECT_EQ(Next(), Numbers{8});
  EXPECT_EQ(Next(), Numbers{});
  EXPECT_EQ(Next(), Numbers{});
  EXPECT_TRUE(batches_->Forwarded().empty());
}

TEST_F(TimedBatchesTest, AFewRowsAreABatchAfterTheirTime) {
  Open(milliseconds(50));
  pipe_->Write(2);
  const Clock::time_point begin = Clock::now();
  Numbers numbers = Next();
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  if (numbers.size() == 1) numbers.push_back(Next().front());  // on a machine that was busy
  EXPECT_EQ(numbers, (Numbers{0, 1}));
  pipe_->End();
  EXPECT_EQ(Next(), Numbers{});
}

TEST_F(TimedBatchesTest, WithoutATimeTheRowsThatAreThereAreABatch) {
  Open(milliseconds(0));
  for (int row = 0; row < 20; ++row) {
    pipe_->Write(1);
    EXPECT_EQ(Next(), Numbers{row});
  }
  pipe_->End();
  EXPECT_EQ(Next(), Numbers{});
}

TEST_F(TimedBatchesTest, AnyTimeCanBeWaited) {
  Open(milliseconds::max());
  pipe_->Write(kBatch);
  EXPECT_EQ(Next(), (Numbers{0, 1, 2, 3}));
  pipe_->End();
}

TEST_F(TimedBatchesTest, RowsBeforeAnErrorComeFirst) {
  Open(std::chrono::hours(1));
  pipe_->Write(6);
  pipe_->End(absl::DataLossError("row 6 is damaged"));
  EXPECT_EQ(Next(), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(Next(), (Numbers{4, 5}));
  EXPECT_EQ(NextError(), absl::DataLossError("row 6 is damaged"));
  EXPECT_EQ(NextError(), absl::DataLossError("row 6 is damaged"));
}

TEST_F(TimedBatchesTest, ItHasNoPositions) {
  Open(milliseconds(0));
  EXPECT_EQ(batches_->Position(), "");
  EXPECT_FALSE(batches_->Restore("here").ok());
}

TEST_F(TimedBatchesTest, ACancelWakesWhoWaitsForARow) {
  Open(milliseconds(0));
  std::thread canceller([this] {
    std::this_thread::sleep_for(milliseconds(20));
    batches_->SetCancelled(true);
  });
  EXPECT_TRUE(absl::IsCancelled(NextError()));
  canceller.join();
  pipe_->End();
}

TEST_F(TimedBatchesTest, ACancelIsFinal) {
  Open(milliseconds(0));
  pipe_->Write(1);
  EXPECT_EQ(Next(), Numbers{0});
  batches_->SetCancelled(true);
  pipe_->Write(1);
  EXPECT_TRUE(absl::IsCancelled(NextError()));
  batches_->SetCancelled(false);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(absl::IsCancelled(NextError()));
  pipe_->End();
}

TEST_F(TimedBatchesTest, ASilentSourceDoesNotKeepTheDestructor) {
  Open(milliseconds(0));
  pipe_->Write(1);
  EXPECT_EQ(Next(), Numbers{0});
  const Clock::time_point begin = Clock::now();
  batches_.reset();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
  pipe_->End();  // the thread ends
}

}  // namespace
}  // namespace tpurun
