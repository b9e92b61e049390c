#include "cli/prediction_writer.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/example.pb.h"
#include "runtime/io/file.h"
#include "runtime/io/record_reader.h"
#include "tests/io/child.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

// Two rows: id s64[1], p f32[2].
class PredictionWriterTest : public ::testing::Test {
 protected:
  PredictedBatch Batch() const {
    return {
        .rows = 2,
        .columns = {
            {"id", {DType::kS64, {1}}, reinterpret_cast<const std::byte*>(ids_.data())},
            {"p", {DType::kF32, {2}}, reinterpret_cast<const std::byte*>(probabilities_.data())}}};
  }

  const std::vector<int64_t> ids_ = {7, -1};
  const std::vector<float> probabilities_ = {0.1f, 0.9f, 0.5f, -1e30f};
  TempDir dir_;
};

TEST_F(PredictionWriterTest, JsonLinesAppearWhenFinished) {
  const std::string path = dir_.Path("out.jsonl");
  const auto writer = MakePredictionWriter(path, {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write(Batch()).ok());
  EXPECT_FALSE(FileExists(path));
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ(*ReadFile(path),
            "{\"id\":[7],\"p\":[0.1,0.9]}\n"
            "{\"id\":[-1],\"p\":[0.5,-1e+30]}\n");
}

TEST_F(PredictionWriterTest, AWriterThatFailedLeavesNothing) {
  for (const char* name : {"out.jsonl", "out.tfrecord"}) {
    auto writer = MakePredictionWriter(dir_.Path(name), {});
    ASSERT_TRUE((*writer)->Write(Batch()).ok());
    writer->reset();
  }
  EXPECT_TRUE(ListDirectory(dir_.path())->empty());
}

TEST_F(PredictionWriterTest, RecordsAreExamples) {
  const std::string path = dir_.Path("out.tfrecord");
  const auto writer = MakePredictionWriter(path, {});
  ASSERT_TRUE((*writer)->Write(Batch()).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  const auto reader = RecordReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string record;
  ASSERT_TRUE(*(*reader)->Read(&record));
  tensorflow::Example example;
  ASSERT_TRUE(example.ParseFromString(record));
  const auto& features = example.features().feature();
  EXPECT_EQ(features.at("id").int64_list().value(0), 7);
  EXPECT_EQ(features.at("p").float_list().value(1), 0.9f);
  ASSERT_TRUE(*(*reader)->Read(&record));
  EXPECT_FALSE(*(*reader)->Read(&record));
}

TEST_F(PredictionWriterTest, EqualRowsAreEqualRecords) {
  PredictedBatch batch = {.rows = 20};
  const std::vector<int64_t> zeros(batch.rows);
  for (const char* name : {"e", "b", "d", "a", "f", "c"}) {
    batch.columns.push_back(
        {name, {DType::kS64, {1}}, reinterpret_cast<const std::byte*>(zeros.data())});
  }
  const std::string path = dir_.Path("out.tfrecord");
  const auto writer = MakePredictionWriter(path, {}).value();
  ASSERT_TRUE(writer->Write(batch).ok());
  ASSERT_TRUE(writer->Finish().ok());
  // Features sorted by name, as SerializeToString(deterministic=True) of TensorFlow's Python does.
  std::string want;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    want += std::string("\x0a\x0a\x0a\x01") + name + std::string("\x12\x05\x1a\x03\x0a\x01\x00", 7);
  }
  want = "\x0a\x48" + want;
  const auto reader = RecordReader::Open(path).value();
  for (int row = 0; row < batch.rows; ++row) {
    std::string record;
    ASSERT_TRUE(reader->Read(&record).value());
    EXPECT_EQ(record, want) << row;
  }
}

TEST_F(PredictionWriterTest, WhatAKilledProcessLeftOfTheOutputIsRemoved) {
  for (const std::string name : {"out.jsonl", "out.tfrecord"}) {
    const std::string path = dir_.Path(name);
    RunInChild([&] {
      PredictionWriter* const writer = MakePredictionWriter(path, {}).value().release();
      EXPECT_TRUE(writer->Write(Batch()).ok());
    });
    ASSERT_EQ(ListDirectory(dir_.path())->size(), 1);
    EXPECT_FALSE(FileExists(path));
    ASSERT_TRUE(MakePredictionWriter(path, {}).value()->Finish().ok());
    EXPECT_EQ(*ListDirectory(dir_.path()), std::vector<std::string>{name});
    ASSERT_TRUE(RemoveFile(path).ok());
  }
}

TEST_F(PredictionWriterTest, AnInputIsRefused) {
  const std::string path = dir_.Path("in.tfrecord");
  ASSERT_TRUE(WriteFileAtomically(path, "records").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(MakePredictionWriter(path, {path}).status()));
  EXPECT_EQ(*ReadFile(path), "records");
}

TEST_F(PredictionWriterTest, AnotherEndingIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(MakePredictionWriter(dir_.Path("out.csv"), {}).status()));
}

}  // namespace
}  // namespace tpurun
