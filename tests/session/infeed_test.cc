#include "runtime/session/infeed.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/ops/ops.h"
#include "tests/io/temp_dir.h"

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

// A program of two cores that read "x" f32[rows, 2], "flag" pred[rows] and the weights.
CoreProgram TwoCores(int64_t rows) {
  CoreProgram program;
  program.num_replicas = 2;
  program.infeed = {{"x", {DType::kF32, {rows, 2}}},
                    {"flag", {DType::kPred, {rows}}},
                    {kRowWeightSlot, {DType::kF32, {rows}}}};
  return program;
}

// x = [n, n / 2] and flag = n is odd, for n = 0, 1, ... 4.
class FiveRows : public BatchSource {
 public:
  explicit FiveRows(int64_t batch) : batch_(batch) {}
  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    int64_t row = 0;
    for (; row < batch_ && next_ < 5; ++row, ++next_) {
      auto* const x = reinterpret_cast<float*>(buffers[0]) + 2 * row;
      x[0] = static_cast<float>(next_);
      x[1] = next_ == 4 ? std::numeric_limits<float>::quiet_NaN() : x[0] / 2;
      buffers[1][row] = std::byte(next_ % 2);
    }
    return row;
  }
  std::string Position() const override { return ""; }
  absl::Status Restore(const std::string&) override { return absl::OkStatus(); }
  std::string Where(int64_t) const override { return ""; }

 private:
  const int64_t batch_;
  int64_t next_ = 0;
};

// The dump of an infeed of 3 rows a core, all taken.
std::string DumpOf(bool broadcast) {
  const TempDir dir;
  const CoreProgram program = TwoCores(3);
  auto dump = InfeedDump::Create(dir.Path("dumps"), "name", program.infeed,
                                 {.first_step = 7, .num_cores = 2});
  EXPECT_TRUE(dump.ok()) << dump.status();
  const int64_t batch = broadcast ? 3 : 6;
  auto infeed = Infeed::Create(
      {{.name = "x", .shape = {DType::kF32, {2}}}, {.name = "flag", .shape = {DType::kPred, {}}}},
      std::make_unique<FiveRows>(batch), program,
      {.batch_size = batch,
       .broadcast = broadcast,
       .pad = true,
       .ended_message = [](int64_t) { return "ended"; },
       .dump = *std::move(dump)});
  EXPECT_TRUE(infeed.ok()) << infeed.status();
  (*infeed)->Start();
  while ((*infeed)->ring().Front().ok()) (*infeed)->ring().Pop();
  EXPECT_TRUE((*infeed)->ended()) << (*infeed)->input_status();
  const auto text = ReadFile(dir.Path("dumps/name.jsonl"));
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

std::string DumpLine(int step, int core, const std::string& x, const std::string& flag,
                     const std::string& weights) {
  return absl::StrCat("{\"step\":", step, ",\"core\":", core, ",\"rows\":3,\"features\":{\"x\":", x,
                      ",\"flag\":", flag, ",\"row_weight\":", weights, "}}\n");
}

TEST(InfeedTest, CoresShareABatchAndPadding) {
  EXPECT_EQ(DumpOf(false),
            DumpLine(7, 0, "[[0,0],[1,0.5],[2,1]]", "[false,true,false]", "[1,1,1]") +
                DumpLine(7, 1, "[[3,1.5],[4,\"NaN\"],[0,0]]", "[true,false,false]", "[1,1,0]"));
}

TEST(InfeedTest, EveryCoreGetsABroadcastBatchAndItsPadding) {
  std::string want;
  for (const int core : {0, 1}) {
    want += DumpLine(7, core, "[[0,0],[1,0.5],[2,1]]", "[false,true,false]", "[1,1,1]");
  }
  for (const int core : {0, 1}) {
    want += DumpLine(8, core, "[[3,1.5],[4,\"NaN\"],[0,0]]", "[true,false,false]", "[1,1,0]");
  }
  EXPECT_EQ(DumpOf(true), want);
}

// Rows "ids" of 4 numbers 10 n, 10 n + 1, ..., and a class n, for n = 0, 1, ...; batch i is of
// bucket i modulo 3.
class Sequences : public BatchSource {
 public:
  explicit Sequences(int64_t batch) : batch_(batch) {}
  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    for (int64_t row = 0; row < batch_; ++row, ++next_) {
      for (int i = 0; i < 4; ++i) {
        reinterpret_cast<int32_t*>(buffers[0])[4 * row + i] = static_cast<int32_t>(10 * next_ + i);
      }
      reinterpret_cast<int32_t*>(buffers[1])[row] = static_cast<int32_t>(next_);
    }
    ++batches_;
    return batch_;
  }
  int bucket() const override { return static_cast<int>((batches_ - 1) % 3); }
  std::string Position() const override { return absl::StrCat(batches_); }
  absl::Status Restore(const std::string& position) override {
    batches_ = *ParseInt64(position);
    next_ = batches_ * batch_;
    return absl::OkStatus();
  }
  std::string Where(int64_t) const override { return ""; }

 private:
  const int64_t batch_;
  int64_t next_ = 0, batches_ = 0;
};

// The slots of two cores for sequences of that length.
std::vector<InfeedSlot> SequenceSlots(int64_t rows, int64_t length) {
  return {{"ids", {DType::kS32, {rows, length}}}, {"class", {DType::kS32, {rows}}}};
}

// The entries that the device gets, as their dump.
std::string SequencesOf(bool broadcast) {
  const TempDir dir;
  const int64_t batch = broadcast ? 2 : 4;
  CoreProgram program;
  program.num_replicas = 2;
  program.infeed = SequenceSlots(2, 4);
  auto dump = InfeedDump::Create(dir.path(), "name", program.infeed, {.num_cores = 2});
  EXPECT_TRUE(dump.ok()) << dump.status();
  auto infeed = Infeed::Create(
      {{.name = "ids", .shape = {DType::kS32, {4}}}, {.name = "class", .shape = {DType::kS32, {}}}},
      std::make_unique<Sequences>(batch), program,
      {.batch_size = batch,
       .broadcast = broadcast,
       .num_batches = 4,
       .ended_message = [](int64_t) { return "ended"; },
       .buckets = {SequenceSlots(2, 1), SequenceSlots(2, 3), SequenceSlots(2, 4)},
       .dump = *std::move(dump)});
  EXPECT_TRUE(infeed.ok()) << infeed.status();
  (*infeed)->Start();
  EntryRing& ring = (*infeed)->ring();
  for (int taken = 0; taken < 4; ++taken) {
    const absl::StatusOr<const std::byte*> entry = ring.Front();
    EXPECT_TRUE(entry.ok()) << entry.status();
    EXPECT_EQ(ring.FrontKind(), taken % 3);
    const SlotLayout layout = LayoutOf(SequenceSlots(2, std::vector{1, 3, 4}[taken % 3]), 2);
    const int first = broadcast ? 0 : 2;  // row of the second core
    EXPECT_EQ(reinterpret_cast<const int32_t*>(*entry + layout.offsets[1])[2],
              static_cast<int>(taken * batch) + first);
    ring.Pop();
    EXPECT_EQ(*(*infeed)->PositionAfter(taken + 1), absl::StrCat(taken + 1));
  }
  return ReadFile(dir.Path("name.jsonl")).value_or("");
}

std::string SequenceLine(int step, int core, const std::string& ids, const std::string& classes) {
  return absl::StrCat("{\"step\":", step, ",\"core\":", core,
                      ",\"rows\":2,\"features\":{\"ids\":", ids, ",\"class\":", classes, "}}\n");
}

TEST(InfeedTest, SequencesAreCutToTheLengthOfTheirBucket) {
  EXPECT_EQ(SequencesOf(false),
            SequenceLine(1, 0, "[[0],[10]]", "[0,1]") + SequenceLine(1, 1, "[[20],[30]]", "[2,3]") +
                SequenceLine(2, 0, "[[40,41,42],[50,51,52]]", "[4,5]") +
                SequenceLine(2, 1, "[[60,61,62],[70,71,72]]", "[6,7]") +
                SequenceLine(3, 0, "[[80,81,82,83],[90,91,92,93]]", "[8,9]") +
                SequenceLine(3, 1, "[[100,101,102,103],[110,111,112,113]]", "[10,11]") +
                SequenceLine(4, 0, "[[120],[130]]", "[12,13]") +
                SequenceLine(4, 1, "[[140],[150]]", "[14,15]"));
}

TEST(InfeedTest, EveryCoreGetsTheSequencesOfABroadcastBatch) {
  std::string want;
  for (const int core : {0, 1}) want += SequenceLine(1, core, "[[0],[10]]", "[0,1]");
  for (const int core : {0, 1}) want += SequenceLine(2, core, "[[20,21,22],[30,31,32]]", "[2,3]");
  for (const int core : {0, 1})
    want += SequenceLine(3, core, "[[40,41,42,43],[50,51,52,53]]", "[4,5]");
  for (const int core : {0, 1}) want += SequenceLine(4, core, "[[60],[70]]", "[6,7]");
  EXPECT_EQ(SequencesOf(true), want);
}

TEST(InfeedTest, ADumpThatCannotBeWrittenEndsTheInput) {
  const TempDir dir;
  ASSERT_EQ(symlink("/dev/full", dir.Path("name.jsonl").c_str()), 0);
  const CoreProgram program = {.infeed = {{"x", {DType::kF32, {2}}}}};
  auto dump = InfeedDump::Create(dir.path(), "name", program.infeed, {});
  ASSERT_TRUE(dump.ok()) << dump.status();
  const InfeedPtr infeed = MakeInfeed({}, {.dump = *std::move(dump)});
  EXPECT_TRUE(absl::IsPermissionDenied(Take(*infeed).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(infeed->input_status())) << infeed->input_status();
  EXPECT_TRUE(absl::IsPermissionDenied(
      InfeedDump::Create(dir.Path("name.jsonl"), "name", program.infeed, {}).status()));
}

TEST(InfeedTest, SleepsBeforeTheFirstBatchUnlessStopped) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  {
    std::atomic<int> batches{0};
    const InfeedPtr infeed =
        MakeInfeed({.batches = &batches}, {.initial_sleep = std::chrono::seconds(1000)});
    std::atomic<int> interrupt{1};
    EXPECT_TRUE(absl::IsCancelled(infeed->WaitForFirst(&interrupt)));
    EXPECT_EQ(batches, 0);
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(60));
  const Clock::time_point second = Clock::now();
  const InfeedPtr infeed = MakeInfeed({}, {.initial_sleep = std::chrono::seconds(1)});
  EXPECT_EQ(*Take(*infeed), 0);
  EXPECT_GE(Clock::now() - second, std::chrono::seconds(1));
  EXPECT_EQ(*Take(*infeed), 2);
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
  EXPECT_EQ(infeed->TakeRows(), 4);
  EXPECT_EQ(infeed->TakeRows(), 2);
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
  for (const int64_t prefetch : {0, 2, 1000}) {
    const InfeedPtr infeed = MakeInfeed({}, {.prefetch = prefetch});
    const int64_t most = 256 + prefetch;  // 4 blocks of 64 small ones in any case
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

TEST(InfeedTest, AnIdThatIsNoClassIsReadThroughASelect) {
  GraphBuilder b(Graph("classes", 1));
  const Value ids = b.AddInfeed("ids", {DType::kS32, {4}});
  const Value computed = b.AddInfeed("computed", {DType::kS32, {4}});
  const Value logits = b.AddInfeed("logits", {DType::kF32, {4, 10}});
  b.MarkIgnored(ids, 255);
  for (const Value read : {ids, computed}) {
    const Value none = Equal(b, read, ConstantInt(b, DType::kS32, {}, {255}));
    const Value zero = ConstantInt(b, DType::kS32, {}, {0});
    SparseSoftmaxCrossEntropy(b, logits, Select(b, none, zero, read));
  }
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(b.graph().infeed()[0].ignored, 255);
  EXPECT_EQ(b.graph().infeed()[1].ignored, std::nullopt);
  EXPECT_EQ(ClassesOf(b.Take()), (std::map<std::string, int64_t>{{"ids", 10}}));
}

TEST(InfeedTest, TheLastIdMayBeNoClass) {
  const auto create = [](std::optional<int64_t> ignored) {
    return Infeed::Create(
               {{.name = "ids", .shape = {DType::kS32, {}}, .is_label = true, .num_ids = 4}},
               std::make_unique<Counting>(Counting::Options{}),
               {.infeed = {{"ids", {DType::kS32, {2}}, /*is_weight=*/false, ignored}}},
               {.batch_size = 2, .classes = {{"ids", 3}}})
        .status();
  };
  EXPECT_TRUE(create(3).ok());
  for (const std::optional<int64_t> other : {std::optional<int64_t>{}, std::optional<int64_t>{0}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(create(other)));
  }
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

TEST(InfeedTest, WeightsAreFiniteAndNotNegative) {
  GraphBuilder b(Graph("weights", 1));
  const Value x = b.AddInfeed("x", {DType::kF32, {2}});
  b.MarkWeights(Neg(b, x));  // what is computed is not known here
  EXPECT_FALSE(b.graph().infeed()[0].is_weight);
  b.MarkWeights(x);
  EXPECT_TRUE(b.graph().infeed()[0].is_weight);
  const auto error_of = [](float weight) {
    class Weights : public BatchSource {
     public:
      explicit Weights(float weight) : weight_(weight) {}
      absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
        const float weights[] = {0, weight_};
        std::memcpy(buffers[0], weights, sizeof weights);
        return 2;
      }
      std::string Position() const override { return ""; }
      absl::Status Restore(const std::string&) override { return absl::OkStatus(); }
      std::string Where(int64_t row) const override { return absl::StrCat("row ", row); }

     private:
      const float weight_;
    };
    auto infeed = Infeed::Create({{.name = "x", .shape = {DType::kF32, {}}}},
                                 std::make_unique<Weights>(weight),
                                 {.infeed = {{"x", {DType::kF32, {2}}, /*is_weight=*/true}}},
                                 {.batch_size = 2, .num_batches = 1});
    EXPECT_TRUE(infeed.ok()) << infeed.status();
    (*infeed)->Start();
    return std::string(Take(**infeed).status().message());
  };
  EXPECT_EQ(error_of(0.5f), "");
  const std::string want = ", want a weight that is finite and >= 0";
  EXPECT_EQ(error_of(-0.5f), "row 1: feature \"x\" is -0.5" + want);
  EXPECT_EQ(error_of(std::numeric_limits<float>::quiet_NaN()),
            "row 1: feature \"x\" is nan" + want);
  EXPECT_EQ(error_of(std::numeric_limits<float>::infinity()), "row 1: feature \"x\" is inf" + want);
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
