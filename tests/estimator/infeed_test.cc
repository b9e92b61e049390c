#include "runtime/estimator/infeed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/text.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// Feeds 0, 1, 2, ... as f32; its position is the next number, with some padding.
class Counting : public BatchSource {
 public:
  struct Options {
    int64_t batch = 2;
    int64_t rows = 1 << 30;               // then it ends
    int64_t fails_at = 1 << 30;           // row
    size_t position_bytes = 0;            // more of them
    int64_t never_again = 1 << 30;        // row to which it cannot be restored
    std::atomic<bool>* silent = nullptr;  // set by the first Next, which never returns
    std::atomic<int>* batches = nullptr;  // counts the calls of Next
  };
  explicit Counting(Options options) : options_(options) {}

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    while (options_.silent != nullptr) {
      *options_.silent = true;
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
    if (options_.batches != nullptr) ++*options_.batches;
    auto* const values = reinterpret_cast<float*>(buffers[0]);
    int64_t rows = 0;
    for (; rows < options_.batch && next_ < options_.rows; ++rows) {
      if (next_ == options_.fails_at) return absl::DataLossError("row is damaged");
      values[rows] = static_cast<float>(next_++);
    }
    return rows;
  }
  std::string Position() const override {
    return absl::StrCat(next_, std::string(options_.position_bytes, ' '));
  }
  absl::Status Restore(const std::string& position) override {
    next_ = *ParseInt64(position.substr(0, position.find(' ')));
    if (next_ >= options_.never_again) return absl::DataLossError("the file has shrunk");
    return absl::OkStatus();
  }
  std::string Where(int64_t row) const override {
    return absl::StrCat("row ", next_ - options_.batch + row);
  }

 private:
  const Options options_;
  int64_t next_ = 0;
};

InfeedPtr MakeInfeed(Counting::Options source, InfeedOptions options = {}) {
  std::vector<InfeedSlot> slots = {{"x", {DType::kF32, {source.batch}}}};
  if (options.pad) slots.push_back({kRowWeightSlot, {DType::kF32, {source.batch}}});
  options.batch_size = source.batch;
  if (!options.ended_message) {
    options.ended_message = [](int64_t batches) { return absl::StrCat("ended after ", batches); };
  }
  auto infeed =
      Infeed::Create({{.name = "x", .shape = {DType::kF32, {}}}},
                     std::make_unique<Counting>(source), {.infeed = slots}, std::move(options));
  EXPECT_TRUE(infeed.ok()) << infeed.status();
  (*infeed)->Start();
  return *std::move(infeed);
}

// The first value of the next batch, which is taken.
absl::StatusOr<float> Take(Infeed& infeed) {
  const absl::StatusOr<const std::byte*> entry = infeed.ring().Front();
  if (!entry.ok()) return entry.status();
  const float value = *reinterpret_cast<const float*>(*entry);
  infeed.ring().Pop();
  return value;
}

TEST(InfeedTest, FeedsBatchesInOrder) {
  const InfeedPtr infeed = MakeInfeed({});
  for (int batch = 0; batch < 1000; ++batch) ASSERT_EQ(*Take(*infeed), 2 * batch);
}

// Whatever was read ahead, wherever the blocks end, short and long positions alike.
TEST(InfeedTest, ThePositionIsThatAfterTheBatchesTaken) {
  for (const size_t bytes : {0, 5000}) {
    const InfeedPtr infeed = MakeInfeed({.position_bytes = bytes});
    int64_t taken = 0;
    for (const int64_t until : {0, 1, 5, 63, 64, 65, 200, 256, 257, 600}) {
      for (; taken < until; ++taken) ASSERT_EQ(*Take(*infeed), 2 * taken);
      const auto position = infeed->PositionAfter(taken);
      ASSERT_TRUE(position.ok()) << position.status();
      EXPECT_EQ(*position, absl::StrCat(2 * taken, std::string(bytes, ' ')));
    }
    EXPECT_EQ(infeed->WhereIs(taken), absl::StrCat("row ", 2 * taken + 1));
  }
}

// It would read on from nowhere.
TEST(InfeedTest, ASourceThatCannotBeBroughtBackIsReadNoMore) {
  std::atomic<int> batches{0};
  const InfeedPtr infeed =
      MakeInfeed({.position_bytes = 5000, .never_again = 1, .batches = &batches});
  for (int batch = 0; batch < 65; ++batch) ASSERT_EQ(*Take(*infeed), 2 * batch);
  // The source has to be beyond what was taken.
  while (batches < 67) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const absl::Status status = infeed->PositionAfter(65).status();
  EXPECT_EQ(status.message(), "the file has shrunk");
  absl::StatusOr<float> value = 0.0f;
  while (value.ok()) value = Take(*infeed);
  EXPECT_EQ(value.status(), status);
  EXPECT_EQ(infeed->input_status(), status);
}

TEST(InfeedTest, ThePositionAfterTheEndIsThatOfTheLastWholeBatch) {
  for (const size_t bytes : {0, 5000}) {
    const InfeedPtr infeed = MakeInfeed({.batch = 4, .rows = 11, .position_bytes = bytes});
    EXPECT_EQ(*Take(*infeed), 0);
    EXPECT_EQ(*Take(*infeed), 4);
    const absl::Status end = Take(*infeed).status();
    EXPECT_TRUE(absl::IsOutOfRange(end));
    EXPECT_EQ(end.message(), "ended after 2");
    EXPECT_TRUE(infeed->ended());
    EXPECT_EQ(*infeed->PositionAfter(2), absl::StrCat(8, std::string(bytes, ' ')));
  }
}

TEST(InfeedTest, PaddingIsZeroWithWeightZero) {
  const InfeedPtr infeed = MakeInfeed({.batch = 4, .rows = 6}, {.pad = true});
  ASSERT_TRUE(Take(*infeed).ok());
  const auto entry = infeed->ring().Front();
  ASSERT_TRUE(entry.ok());
  const SlotLayout layout =
      LayoutOf(std::vector<InfeedSlot>{{"x", {DType::kF32, {4}}}, {"w", {DType::kF32, {4}}}}, 1);
  const auto* const x = reinterpret_cast<const float*>(*entry);
  const auto* const weights = reinterpret_cast<const float*>(*entry + layout.offsets[1]);
  EXPECT_EQ(std::vector<float>(x, x + 4), (std::vector<float>{4, 5, 0, 0}));
  EXPECT_EQ(std::vector<float>(weights, weights + 4), (std::vector<float>{1, 1, 0, 0}));
  EXPECT_EQ(infeed->RowsOf(0), 4);
  EXPECT_EQ(infeed->RowsOf(1), 2);
}

TEST(InfeedTest, AnErrorComesAfterTheBatchesBeforeIt) {
  const InfeedPtr infeed = MakeInfeed({.fails_at = 5});
  EXPECT_EQ(*Take(*infeed), 0);
  EXPECT_EQ(*Take(*infeed), 2);
  const absl::Status status = Take(*infeed).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_EQ(status.message(), "row is damaged");
  EXPECT_EQ(infeed->input_status(), status);
  EXPECT_EQ(*infeed->PositionAfter(2), "4");
}

TEST(InfeedTest, TakesNoMoreBatchesThanAskedFor) {
  const InfeedPtr infeed = MakeInfeed({.rows = 6}, {.num_batches = 3});
  for (int batch = 0; batch < 3; ++batch) EXPECT_EQ(*Take(*infeed), 2 * batch);
  EXPECT_FALSE(infeed->ended());  // it has not looked whether there is a fourth
  EXPECT_EQ(*infeed->PositionAfter(3), "6");
}

TEST(InfeedTest, PreparesAsManyBatchesAheadAsAreAskedFor) {
  for (const int64_t prefetch : {-1, 0, 2, 1000}) {
    const InfeedPtr infeed = MakeInfeed({}, {.prefetch = prefetch});
    const int64_t most = std::max<int64_t>(256, prefetch);  // of small ones 4 blocks of 64
    EXPECT_EQ(infeed->ring().capacity(), most);
    while (infeed->ring().committed() < most) std::this_thread::yield();
    for (int batch = 0; batch < 2000; ++batch) ASSERT_EQ(*Take(*infeed), 2 * batch);
    EXPECT_EQ(*infeed->PositionAfter(2000), "4000");
  }
  const InfeedPtr few = MakeInfeed({}, {.num_batches = 300, .prefetch = int64_t{1} << 62});
  EXPECT_EQ(few->ring().capacity(), 300);
}

TEST(InfeedTest, MoreBatchesAheadThanFitInMemoryAreRefused) {
  const auto infeed = Infeed::Create(
      {{.name = "x", .shape = {DType::kF32, {}}}}, std::make_unique<Counting>(Counting::Options{}),
      {.infeed = {{"x", {DType::kF32, {2}}}}}, {.batch_size = 2, .prefetch = int64_t{1} << 62});
  EXPECT_TRUE(absl::IsResourceExhausted(infeed.status()));
  EXPECT_NE(infeed.status().message().find("lower the buffer_size of prefetch"),
            absl::string_view::npos);
}

TEST(InfeedTest, ASlotWithoutFeatureIsRefused) {
  const auto infeed = Infeed::Create({}, std::make_unique<Counting>(Counting::Options{}),
                                     {.infeed = {{"x", {DType::kF32, {2}}}}}, {.batch_size = 2});
  EXPECT_TRUE(absl::IsInvalidArgument(infeed.status()));
  EXPECT_NE(infeed.status().message().find("\"x\""), absl::string_view::npos);
}

TEST(InfeedTest, ClassesAreThoseOfTheSmallestLayerThatReadsTheIds) {
  GraphBuilder b(Graph("classes", 1));
  const Value column = b.AddInfeed("column", {DType::kS64, {4, 1}});
  const Value computed = b.AddInfeed("computed", {DType::kS32, {8}});
  const Value logits = b.AddInfeed("logits", {DType::kF32, {4, 10}});
  const Value few = b.AddInfeed("few", {DType::kF32, {4, 3}});
  SparseSoftmaxCrossEntropy(b, logits, Reshape(b, column, {4}));
  SparseSoftmaxCrossEntropy(b, few, Reshape(b, column, {4}));
  SparseSoftmaxCrossEntropy(b, logits, Slice(b, computed, {4}, {4}));
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(ClassesOf(b.Take()), (std::map<std::string, int64_t>{{"column", 3}}));
}

TEST(InfeedTest, IdsOfRowsOfEachExampleAreFewerThanItHas) {
  GraphBuilder b(Graph("classes", 1));
  const Value of_example = b.AddInfeed("of_example", {DType::kS32, {4, 2}});
  const Value of_table = b.AddInfeed("of_table", {DType::kS32, {4, 2}});
  const Value rows = b.AddInfeed("rows", {DType::kF32, {4, 5, 3}});
  Gather(b, rows, of_example, 1);
  Gather(b, rows, of_table);
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(ClassesOf(b.Take()),
            (std::map<std::string, int64_t>{{"of_example", 5}, {"of_table", 4}}));
}

TEST(InfeedTest, StoppingWakesAFullRing) {
  const InfeedPtr infeed = MakeInfeed({});
  while (infeed->ring().committed() < infeed->ring().capacity()) std::this_thread::yield();
  EXPECT_TRUE(infeed->Stop());
}

TEST(InfeedTest, ASilentSourceHoldsNothingUp) {
  const std::atomic<int> interrupt = 1;
  static std::atomic<bool> silent = false;
  InfeedPtr infeed = MakeInfeed({.silent = &silent});
  while (!silent) std::this_thread::yield();
  EXPECT_TRUE(absl::IsCancelled(infeed->WaitForFirst(&interrupt)));
  EXPECT_EQ(*infeed->PositionAfter(0), "0");
  infeed.reset();  // though its thread sleeps on
}

}  // namespace
}  // namespace tpurun
