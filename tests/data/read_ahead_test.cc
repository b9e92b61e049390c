// Files that are read ahead have the records, the errors and the ends of those that are not.
#include "data/sources/read_ahead.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

// `count` records of `bytes` bytes, which begin with their number, and then the error if there is
// one.
class Numbers : public SourceFile {
 public:
  Numbers(int64_t count, size_t bytes, absl::Status error = absl::OkStatus())
      : count_(count), bytes_(bytes), error_(std::move(error)) {}

  absl::StatusOr<bool> Read(SourceRecord* record) override {
    if (next_ == count_ && !error_.ok()) return error_;
    if (next_ == count_) return false;
    if (record != nullptr) {
      record->bytes = absl::StrCat(next_, " ");
      record->bytes.resize(std::max(record->bytes.size(), bytes_));
      record->origin = {.record = next_};
    }
    ++next_;
    return true;
  }
  absl::Status CheckEnd() const override {
    return count_ > 0 ? absl::OkStatus() : absl::DataLossError("no records");
  }

 private:
  const int64_t count_;
  const size_t bytes_;
  const absl::Status error_;
  int64_t next_ = 0;
};

class ReadAheadTest : public testing::TestWithParam<int> {
 protected:
  ReadAhead ahead_{GetParam()};
};

void ExpectRecord(SourceFile& file, int64_t number) {
  SourceRecord record;
  const absl::StatusOr<bool> found = file.Read(&record);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(*found);
  EXPECT_EQ(record.origin.record, number);
  EXPECT_EQ(std::stoi(record.bytes), number);
}

TEST_P(ReadAheadTest, EachFileHasItsRecordsInOrder) {
  // Records of all sizes: a block has many of the small ones, the large one is larger than a block.
  std::vector<std::unique_ptr<SourceFile>> files;
  for (const size_t bytes : {2, 100, 3000, 100000, 300000}) {
    files.push_back(ahead_.Wrap(std::make_unique<Numbers>(2500, bytes / 10)));
  }
  for (int64_t i = 0; i < 2500; ++i) {
    for (const auto& file : files) ExpectRecord(*file, i);
  }
  for (const auto& file : files) {
    SourceRecord record;
    EXPECT_FALSE(*file->Read(&record));
    EXPECT_FALSE(*file->Read(&record));
    EXPECT_TRUE(file->CheckEnd().ok());
  }
}

TEST_P(ReadAheadTest, RecordsAreSkippedAnywhere) {
  const auto file = ahead_.Wrap(std::make_unique<Numbers>(5000, 50));
  int64_t next = 0;
  for (const int64_t skip : {7, 0, 1, 2000, 500}) {
    for (int64_t i = 0; i < skip; ++i) EXPECT_TRUE(*file->Read(nullptr));
    next += skip;
    ExpectRecord(*file, next++);
  }
  while (next < 5000) {
    EXPECT_TRUE(*file->Read(nullptr));
    ++next;
  }
  EXPECT_FALSE(*file->Read(nullptr));
}

TEST_P(ReadAheadTest, AnErrorIsBehindTheRecordsBeforeIt) {
  const auto file =
      ahead_.Wrap(std::make_unique<Numbers>(1500, 500, absl::DataLossError("damaged")));
  for (int64_t i = 0; i < 1500; ++i) ExpectRecord(*file, i);
  SourceRecord record;
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(file->Read(&record).status(), absl::DataLossError("damaged"));
  }
}

TEST_P(ReadAheadTest, AnEmptyFileSaysSo) {
  const auto file = ahead_.Wrap(std::make_unique<Numbers>(0, 1));
  SourceRecord record;
  EXPECT_FALSE(*file->Read(&record));
  EXPECT_EQ(file->CheckEnd(), absl::DataLossError("no records"));
}

TEST_P(ReadAheadTest, AFileMayBeClosedAtAnyTime) {
  for (int round = 0; round < 200; ++round) {
    auto first = ahead_.Wrap(std::make_unique<Numbers>(100000, 20000));
    auto second = ahead_.Wrap(std::make_unique<Numbers>(100000, 10));
    for (int64_t i = 0; i < round % 4; ++i) ExpectRecord(*first, i);
    ExpectRecord(*second, 0);
    if (round % 2 == 0) first = nullptr;
    ExpectRecord(*second, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ReadAheadTest, testing::Values(1, 2, 8));

}  // namespace
}  // namespace tpurun
