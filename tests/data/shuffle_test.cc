// The buffer of a shuffle that does not fit in memory; what a shuffle gives is in
// transform_golden_test and position_test.
#include <array>
#include <limits>

#include "absl/strings/match.h"
#include "data/transforms/transform_list.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr int kRecords = 5000;
constexpr int kRecordBytes = 1000;

class LongRecords : public SourceReader {
 public:
  absl::StatusOr<bool> Read(SourceRecord* record) override {
    if (next_ == kRecords) return false;
    ++next_;
    if (record != nullptr) record->bytes.assign(kRecordBytes, 'x');
    return true;
  }
  absl::Status StartEpoch(int64_t epoch) override {
    next_ = 0;
    return absl::OkStatus();
  }
  std::string Where(const Origin& origin) const override { return ""; }

 private:
  int next_ = 0;
};

class ShuffleTest : public ::testing::Test {
 protected:
  // The status of the first draw.
  absl::Status Draw(int64_t buffer_size, int64_t least, int64_t memory_bytes) {
    proto::Transform transform;
    transform.mutable_shuffle()->set_buffer_size(buffer_size);
    const auto items = MakeShuffle(transform, {.before = std::make_unique<RecordItems>(&records_),
                                               .records = &records_,
                                               .where = "run.textproto:5:3",
                                               .least = least,
                                               .memory_bytes = memory_bytes});
    std::array<Item, 1> drawn;
    return items->Next(std::span(drawn)).status();
  }

  StreamedRecords records_{std::make_unique<LongRecords>(), "record"};
};

TEST_F(ShuffleTest, ABufferLargerThanTheInputTakesWhatThereIs) {
  const int64_t all = kRecords * (kRecordBytes + 1000);
  EXPECT_TRUE(Draw(std::numeric_limits<int64_t>::max(), 0, all).ok());
}

TEST_F(ShuffleTest, ABufferThatCannotFitIsRefusedBeforeItIsFilled) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const absl::Status status = Draw(2000000000, kMost, 24 << 20);
  EXPECT_EQ(ExitCode(status), 4);
  EXPECT_EQ(status.message(),
            "the shuffle buffer of 2000000000 elements (run.textproto:5:3) does not fit in memory: "
            "2000000000 of them take 29.8 GiB, there is 24.0 MiB; lower its buffer_size");
  EXPECT_EQ(records_.held_bytes(), 0);
  EXPECT_EQ(ExitCode(Draw(kMost, kMost, kMost)), 4);
}

TEST_F(ShuffleTest, TheRecordsInTheBufferCount) {
  const absl::Status status = Draw(kRecords, 0, kRecords * kRecordBytes / 2);
  EXPECT_EQ(ExitCode(status), 4);
  EXPECT_TRUE(absl::StartsWith(status.message(), "the shuffle buffer of 5000 elements "))
      << status.message();
  EXPECT_GE(records_.held_bytes(), kRecords * kRecordBytes / 4);
}

}  // namespace
}  // namespace tpurun
