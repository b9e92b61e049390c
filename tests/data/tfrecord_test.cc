// The tfrecord source: the order of records over files, compression, and what it says of damage.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/io/record_writer.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

InputFnArgs Args(ModeKey mode = ModeKey::kEval, int64_t seed = 1) {
  return {.mode = mode, .batch_size = 4, .features = ParseFeatures("x u8[]"), .seed = seed};
}

class TfrecordTest : public ::testing::Test {
 protected:
  // A file of records of one byte each.
  void Write(const std::string& name, const std::string& bytes,
             Compression compression = Compression::kNone) {
    auto writer = RecordWriter::Create(dir_.Path(name), compression);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const char byte : bytes) ASSERT_TRUE((*writer)->Write({&byte, 1}).ok());
    ASSERT_TRUE((*writer)->Close().ok());
  }

  absl::StatusOr<OpenInput> Open(const std::string& tfrecord, const std::string& transforms = "",
                                 const InputFnArgs& args = Args()) const {
    return tpurun::Open(absl::StrCat("train { input { source { tfrecord { ", tfrecord,
                                     " } } transform { decode_raw { feature: \"record\" output: "
                                     "\"x\" dtype: UINT8 } } ",
                                     transforms, " } }"),
                        args, dir_.path());
  }

  // The bytes of the records as text, or the error without the directory.
  std::string Read(const std::string& tfrecord, const std::string& transforms = "",
                   const InputFnArgs& args = Args(), int64_t batches = 1000) const {
    auto input = Open(tfrecord, transforms, args);
    if (!input.ok()) return Shortened(input.status());
    const auto rows = input->Batches(batches);
    if (!rows.ok()) return Shortened(rows.status());
    std::string bytes;
    std::istringstream lines(*rows);
    for (std::string line; std::getline(lines, line);) {
      if (line != "--") bytes += static_cast<char>(std::stoi(line.substr(2)));
    }
    return bytes;
  }

  std::string Shortened(const absl::Status& status) const {
    return absl::StrReplaceAll(status.ToString(absl::StatusToStringMode::kWithNoExtraData),
                               {{dir_.path() + "/", ""}});
  }

  const TempDir dir_;
};

TEST_F(TfrecordTest, FilesComeOneAfterTheOther) {
  Write("b", "def");
  Write("a", "abc");
  EXPECT_EQ(Read("file: \"*\""), "abcdef");
}

TEST_F(TfrecordTest, EveryCompressionIsRead) {
  Write("gzip", "abc", Compression::kGzip);
  Write("zlib", "def", Compression::kZlib);
  EXPECT_EQ(Read("file: \"gzip\" compression: GZIP"), "abc");
  EXPECT_EQ(Read("file: \"zlib\" compression: ZLIB"), "def");
}

// More rows than are transformed at a time; each column is made by another transform.
TEST_F(TfrecordTest, ColumnsOfALargeBatch) {
  std::string bytes;
  for (int i = 0; i < 700; ++i) bytes += static_cast<char>(i % 251);
  Write("a", bytes);
  const std::string transforms =
      "transform { cast { feature: \"x\" output: \"y\" dtype: FLOAT32 scale: 0.5 offset: -1 } } "
      "transform { cast { feature: \"x\" output: \"z\" dtype: INT32 } } "
      "transform { cast { feature: \"y\" dtype: FLOAT32 scale: 2 } } ";
  const auto want = [&](size_t begin, size_t end) {
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      const int x = static_cast<uint8_t>(bytes[i]);
      absl::StrAppend(&text, "x=", x, " y=", x - 2, " z=", x, "\n");
    }
    return text;
  };
  for (const char* const cached : {"", "transform { cache {} } "}) {
    for (const char* const after : {"", "transform { cache {} }"}) {
      auto input = tpurun::Open(
          absl::StrCat("train { input { source { tfrecord { file: \"a\" } } ", cached,
                       "transform { decode_raw { feature: \"record\" output: \"x\" dtype: UINT8 } "
                       "} ",
                       transforms, after, " } }"),
          {.mode = ModeKey::kEval,
           .batch_size = 300,
           .features = ParseFeatures("x u8[] y f32[] z s32[]"),
           .seed = 1},
          dir_.path());
      ASSERT_TRUE(input.ok()) << input.status();
      EXPECT_EQ(input->NextBatch().value(), want(0, 300));
      EXPECT_EQ(input->NextBatch().value(), want(300, 600));
      EXPECT_EQ(input->NextBatch().value(), want(600, 700));
      EXPECT_EQ(input->NextBatch().value(), "");
    }
  }
}

TEST_F(TfrecordTest, AFileThatIsGoneAtTheNextPassIsNotFound) {
  Write("a", "1234");
  Write("b", "5678");
  auto input = Open("file: \"a\" file: \"b\"", "transform { repeat {} }");
  ASSERT_TRUE(input.ok()) << input.status();
  ASSERT_TRUE(input->Batches(2).ok());
  std::filesystem::remove(dir_.Path("b"));
  EXPECT_EQ(Shortened(input->NextBatch().status()),
            "NOT_FOUND: cannot read b: No such file or directory");
}

TEST_F(TfrecordTest, TheWrongCompressionIsNamed) {
  Write("gzip", "abc", Compression::kGzip);
  EXPECT_TRUE(
      absl::StrContains(Read("file: \"gzip\""), "not a TFRecord file, or of another compression?"));
}

TEST_F(TfrecordTest, ParallelReadsTakeTurnsAndTheNextFileWaitsForIts) {
  Write("a", "abcd");
  Write("b", "12");
  Write("c", "xyz");
  Write("d", "7");
  EXPECT_EQ(Read("file: \"*\" num_parallel_reads: 2"), "a1b2cdxy7z");
  EXPECT_EQ(Read("file: \"*\" num_parallel_reads: 9"), "a1x7b2yczd");
}

TEST_F(TfrecordTest, ShuffledFilesChangeTheirOrderFromPassToPass) {
  std::string all;
  for (char byte = 'a'; byte <= 'h'; ++byte) {
    Write(std::string(1, byte), std::string(1, byte));
    all += byte;
  }
  const std::string passes =
      Read("file: \"*\" shuffle_files: true", "transform { repeat { count: 4 } }");
  ASSERT_EQ(passes.size(), 32);
  std::set<std::string> orders;
  for (int pass = 0; pass < 4; ++pass) {
    std::string order = passes.substr(pass * 8, 8);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, all);
  }
  EXPECT_EQ(orders.size(), 4);
  EXPECT_EQ(passes, Read("file: \"*\" shuffle_files: true", "transform { repeat { count: 4 } }"));
  EXPECT_NE(passes, Read("file: \"*\" shuffle_files: true", "transform { repeat { count: 4 } }",
                         Args(ModeKey::kEval, 2)));
}

TEST_F(TfrecordTest, PositionsRestoreAcrossShuffledFilesAndPasses) {
  Write("a", "abcde");
  Write("b", "1234567");
  Write("c", "xyz");
  for (const std::string& transforms :
       {std::string("transform { repeat {} }"),
        std::string("transform { shuffle { buffer_size: 6 } } transform { repeat {} }"),
        std::string("transform { repeat {} } transform { shuffle { buffer_size: 6 } }"),
        std::string("transform { repeat {} } transform { shuffle { buffer_size: 40 } }"),
        // From pass to pass of the second repeat the first one counts on by 2^21.
        std::string("transform { repeat { count: 2097152 } } transform { take { count: 16 } } "
                    "transform { repeat {} } transform { shuffle { buffer_size: 4 } }")}) {
    const std::string source = "file: \"*\" shuffle_files: true num_parallel_reads: 2";
    auto whole = Open(source, transforms);
    ASSERT_TRUE(whole.ok()) << whole.status();
    std::vector<std::string> positions, batches, places;
    for (int i = 0; i < 20; ++i) {
      positions.push_back(whole->batches().Position());
      batches.push_back(whole->NextBatch().value());
      places.push_back(whole->WhereLast());
    }
    for (size_t stop = 0; stop < positions.size(); ++stop) {
      auto resumed = Open(source, transforms);
      ASSERT_TRUE(resumed->batches().Restore(positions[stop]).ok()) << positions[stop];
      for (size_t i = stop; i < batches.size(); ++i) {
        EXPECT_EQ(resumed->NextBatch().value(), batches[i]) << transforms << stop << " " << i;
        EXPECT_EQ(resumed->WhereLast(), places[i]);
      }
    }
  }
}

// Version 1 of positions, whose item ids have the pass in their upper bits.
TEST_F(TfrecordTest, APositionOfVersion1IsRead) {
  Write("a", "abcde");
  Write("b", "1234567");
  Write("c", "xyz");
  auto input = Open("file: \"*\" shuffle_files: true num_parallel_reads: 2",
                    "transform { repeat {} } transform { shuffle { buffer_size: 6 } }");
  const absl::Status restored = input->batches().Restore(
      "tfrecord num_parallel_reads 2 shuffle_files | repeat { } | shuffle { buffer_size: 6 } "
      "(stream 0) @ shuffle 0 52 1 6 137438953484 206158430218 206158430220 137438953483 "
      "206158430219 206158430217 repeat 0 3 13 records 3 13");
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_EQ(input->NextBatch().value(), "x=54\nx=121\nx=52\nx=120\n");
}

TEST_F(TfrecordTest, WhereNamesRecordFileAndOffset) {
  Write("a", "abc");
  auto input = Open("file: \"a\"", "transform { cache {} }");
  ASSERT_TRUE(input->NextBatch().ok());
  EXPECT_EQ(absl::StrReplaceAll(input->WhereLast(), {{dir_.path() + "/", ""}}),
            "record 2 of a (offset 34)");
}

TEST_F(TfrecordTest, RecordsAreCountedToTrain) {
  Write("a", "abc");
  Write("z", "defg", Compression::kGzip);
  InputFnArgs args = Args(ModeKey::kTrain);
  const std::string repeat = "transform { repeat {} }";
  EXPECT_EQ(Open("file: \"a\"", repeat, args)->source().examples_per_epoch, 3);
  // To count a compressed file is to read it: only when that number is needed.
  EXPECT_EQ(Open("file: \"z\" compression: GZIP", repeat, args)->source().examples_per_epoch, -1);
  args.count_examples = true;
  EXPECT_EQ(Open("file: \"z\" compression: GZIP", repeat, args)->source().examples_per_epoch, 4);
}

TEST_F(TfrecordTest, AnEmptyShardIsAnErrorButNotToPredict) {
  Write("a", "abc");
  Write("b", "");
  EXPECT_EQ(Read("file: \"*\""), "DATA_LOSS: b has no records");
  EXPECT_EQ(Read("file: \"*\"", "", Args(ModeKey::kPredict)), "abc");
}

TEST_F(TfrecordTest, AGlobThatFindsAPartOfASetIsRefused) {
  Write("t-00000-of-00003", "a");
  Write("t-00002-of-00003", "c");
  const std::string message = Read("file: \"t*\"");
  EXPECT_TRUE(absl::EndsWith(
      message,
      ": \"t*\" finds an incomplete set: got 2 of the 3 files that their names speak of, want "
      "t-00001-of-00003 too; run tpurun convert again, or name the files to read one by one"))
      << message;
  EXPECT_TRUE(absl::StartsWith(message, "NOT_FOUND: run.textproto:")) << message;
  // Named one by one they are meant.
  EXPECT_EQ(Read("file: \"t-00002-of-00003\""), "c");
  EXPECT_EQ(Read("file: \"t-00002-of-00003\" file: \"t-00000-of-00003\""), "ca");
  Write("t-00001-of-00003", "b");
  EXPECT_EQ(Read("file: \"t*\""), "abc");
  // What is there may be left out.
  EXPECT_EQ(Read("file: \"t-0000[12]*\""), "bc");
}

TEST_F(TfrecordTest, OfManyMissingFilesTheFirstAreNamed) {
  Write("t-00000-of-00009", "a");
  EXPECT_TRUE(absl::StrContains(Read("file: \"t*\""),
                                "got 1 of the 9 files that their names speak of, want "
                                "t-00001-of-00009, t-00002-of-00009, t-00003-of-00009 and 5 more"));
  // Not the names of a set.
  for (const char* const name : {"u-0001-of-0002", "u-00000-of-00002.gz", "-of-00002", "ux"}) {
    Write(name, "x");
    EXPECT_EQ(Read(absl::StrCat("file: \"", std::string(name).substr(0, 2), "*\"")), "x") << name;
    std::filesystem::remove(dir_.Path(name));
  }
}

TEST_F(TfrecordTest, DamageNamesFileRecordAndOffset) {
  Write("a", "abc");
  std::fstream file(dir_.Path("a"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(17 + 12);  // the payload of record 1
  file.put('B');
  file.close();
  const std::string message = Read("file: \"a\"");
  EXPECT_TRUE(absl::StartsWith(message, "DATA_LOSS: record 1 of a: payload checksum")) << message;
  EXPECT_TRUE(absl::EndsWith(message, "(offset 17)")) << message;
  std::filesystem::resize_file(dir_.Path("a"), 20);
  EXPECT_EQ(Read("file: \"a\""),
            "DATA_LOSS: record 1 of a: truncated: got 3 bytes of its header, want 12 (offset 17)");
}

TEST_F(TfrecordTest, ItsOptionsAreChecked) {
  EXPECT_EQ(
      Read("file: \"a\" num_parallel_reads: 0"),
      "INVALID_ARGUMENT: run.textproto:1:47: tfrecord: num_parallel_reads must be > 0, got 0");
  EXPECT_EQ(Read("file: \"a\" buffer_size: -1"),
            "INVALID_ARGUMENT: run.textproto:1:47: tfrecord: buffer_size must be > 0, got -1");
  EXPECT_EQ(Read("file: \"a\" buffer_size: 99999999999999"),
            "INVALID_ARGUMENT: run.textproto:1:47: tfrecord: buffer_size must be <= 1073741824, "
            "got 99999999999999");
}

}  // namespace
}  // namespace tpurun
