// The fixed_length_record source: which records it gives, and what it says of files that are not
// made of them. The values of records are in testdata/transforms/decode_raw.txt.
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

class FixedLengthRecordTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_.Path(name), std::ios::binary) << text;
  }

  // The second bytes of the records, "97 98 ", after the transforms; or the error without the
  // directory.
  std::string Read(const std::string& fields, const std::string& transforms = "",
                   ModeKey mode = ModeKey::kEval) {
    auto input = Open(
        absl::StrCat("train { input { source { fixed_length_record { ", fields, " } } transform { ",
                     "decode_raw { feature: \"record\" output: \"x\" dtype: UINT8 offset: 1 } } ",
                     transforms, " } }"),
        {.mode = mode, .batch_size = 2, .features = ParseFeatures("x u8[]")}, dir_.path());
    if (!input.ok()) return Shortened(input.status());
    examples_ = input->source().examples_per_epoch;
    std::string values;
    while (true) {
      const auto batch = input->NextBatch();
      if (!batch.ok()) return Shortened(batch.status());
      if (batch->empty()) return values;
      absl::StrAppend(&values, absl::StrReplaceAll(*batch, {{"x=", ""}, {"\n", " "}}));
      last_ = absl::StrReplaceAll(input->WhereLast(), {{dir_.path() + "/", ""}});
    }
  }

  std::string Shortened(const absl::Status& status) const {
    return absl::StrReplaceAll(status.ToString(absl::StatusToStringMode::kWithNoExtraData),
                               {{dir_.path() + "/", ""}});
  }

  const TempDir dir_;
  int64_t examples_ = 0;
  std::string last_;
};

TEST_F(FixedLengthRecordTest, RecordsOfTheFilesFollowOneAnother) {
  Write("a", "0a0b0c");
  Write("b", "0d");
  EXPECT_EQ(Read("file: [\"a\", \"b\"] record_bytes: 2"), "97 98 99 100 ");
  EXPECT_EQ(last_, "record 0 of b (offset 0)");
  EXPECT_EQ(Read("file: \"*\" record_bytes: 2", "transform { take { count: 3 } }"), "97 98 99 ");
  EXPECT_EQ(last_, "record 2 of a (offset 4)");
}

TEST_F(FixedLengthRecordTest, HeaderAndFooterOfEveryFileAreLeftOut) {
  Write("a", "HEAD0a.0b.FOOT!");
  Write("b", "head0c.foot!");
  EXPECT_EQ(Read("file: [\"a\", \"b\"] record_bytes: 3 header_bytes: 4 footer_bytes: 5"),
            "97 98 99 ");
  EXPECT_EQ(last_, "record 0 of b (offset 4)");
}

TEST_F(FixedLengthRecordTest, RecordsAreCountedAndPassedOver) {
  Write("a", ".0a0b0c0d");
  const std::string fields = "file: \"a\" record_bytes: 2 header_bytes: 1";
  EXPECT_EQ(Read(fields, "transform { skip { count: 2 } } transform { repeat { count: 2 } }",
                 ModeKey::kTrain),
            "INVALID_ARGUMENT: run.textproto:1:9: training takes whole batches only: want "
            "transform { batch { drop_remainder: true } }, or transform { repeat {} } before the "
            "batch");
  EXPECT_EQ(Read(fields,
                 "transform { skip { count: 3 } } transform { repeat { count: 4 } } "
                 "transform { batch { drop_remainder: true } }",
                 ModeKey::kTrain),
            "100 100 100 100 ");
  EXPECT_EQ(examples_, 4);
}

TEST_F(FixedLengthRecordTest, WhatIsNotMadeOfRecordsIsAnError) {
  Write("a", "0a0b0");
  EXPECT_EQ(Read("file: \"a\" record_bytes: 2"),
            "DATA_LOSS: a: got 5 bytes, want 0 of a header, a multiple of 2 of records and 0 of a "
            "footer");
  EXPECT_EQ(Read("file: \"a\" record_bytes: 2 header_bytes: 4 footer_bytes: 2"),
            "DATA_LOSS: a: got 5 bytes, want 4 of a header, a multiple of 2 of records and 2 of a "
            "footer");
  Write("empty", "");
  Write("around", "ab");
  EXPECT_EQ(Read("file: \"empty\" record_bytes: 2"), "DATA_LOSS: empty has no records");
  EXPECT_EQ(Read("file: \"around\" record_bytes: 2 header_bytes: 1 footer_bytes: 1"),
            "DATA_LOSS: around has no records");
  EXPECT_EQ(Read("file: \"empty\" record_bytes: 2", "", ModeKey::kPredict), "");
}

// A pipe of these bytes while it lives.
class Pipe {
 public:
  Pipe(const std::string& path, const std::string& bytes) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::signal(SIGPIPE, SIG_IGN);  // it may be closed before all is written
    writer_ = std::thread([path, bytes] { std::ofstream(path, std::ios::binary) << bytes; });
  }
  ~Pipe() { writer_.join(); }

 private:
  std::thread writer_;
};

TEST_F(FixedLengthRecordTest, APipeIsReadToItsEnd) {
  const Pipe pipe(dir_.Path("p"), "..0a0b");
  EXPECT_EQ(Read("file: \"p\" record_bytes: 2 header_bytes: 2"), "97 98 ");
}

TEST_F(FixedLengthRecordTest, APipeThatEndsWithinARecordIsAnError) {
  const Pipe pipe(dir_.Path("p"), "0a0b0");
  EXPECT_EQ(Read("file: \"p\" record_bytes: 2"), "DATA_LOSS: p: got 1 bytes of record 2, want 2");
}

TEST_F(FixedLengthRecordTest, APipeThatEndsWithinItsHeaderIsAnError) {
  const Pipe pipe(dir_.Path("p"), "0a");
  EXPECT_EQ(Read("file: \"p\" record_bytes: 2 header_bytes: 3"),
            "DATA_LOSS: p: got 2 bytes of a header, want 3");
}

TEST_F(FixedLengthRecordTest, APipeHasNoFooter) {
  const Pipe pipe(dir_.Path("p"), "0a0b0");
  EXPECT_EQ(Read("file: \"p\" record_bytes: 2 footer_bytes: 1"),
            "INVALID_ARGUMENT: p: where footer_bytes begin is known of files alone, not of pipes");
}

TEST_F(FixedLengthRecordTest, BadFieldsAreRefused) {
  const std::string error = "INVALID_ARGUMENT: run.textproto:1:";
  EXPECT_EQ(Read("file: \"a\""),
            error + "26: fixed_length_record: record_bytes is missing, want a number > 0");
  EXPECT_EQ(Read("file: \"a\" record_bytes: 0"),
            error + "58: fixed_length_record: record_bytes must be > 0, got 0");
  EXPECT_EQ(Read("file: \"a\" record_bytes: 1 header_bytes: -1"),
            error + "74: fixed_length_record: header_bytes must be >= 0, got -1");
  EXPECT_EQ(Read("file: \"a\" record_bytes: 1 footer_bytes: 268435457"),
            error + "74: fixed_length_record: footer_bytes must be <= 268435456, got 268435457");
}

}  // namespace
}  // namespace tpurun
