// The file of the best checkpoint: what is written is read, damage is told, and another checkpoint
// is not taken for the best one.
#include "runtime/checkpoint/best_checkpoint.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/io/directory.h"
#include "runtime/io/tensor_bundle.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::HasSubstr;

class BestCheckpointTest : public ::testing::Test {
 protected:
  BestCheckpointTest() : held_(*Directory::Open(dir_.path())), store_(1) {
    EXPECT_TRUE(store_.Add({{.name = "v", .shape = {DType::kF32, {4}}}}).ok());
    state_.set_monitor("MAX accuracy");
    state_.set_best(0.1);
    state_.set_best_step(7);
    proto::EvaluationState::Metric& matrix = *state_.add_best_metric();
    matrix.set_name("confusion");
    for (const int64_t dim : {2, 2}) matrix.add_dim(dim);
    for (const double value : {1.0, 2.5, 0.0, 0.1}) matrix.add_value(value);
  }

  void Checkpoint(float value) {
    *reinterpret_cast<float*>(store_.FindMutable("v")->copy(0)) = value;
    ASSERT_TRUE(WriteCheckpoint(store_, {}, {held_, "model.ckpt-7"}).ok());
  }
  void Write(const std::string& text) { std::ofstream(dir_.Path("best_checkpoint.pbtxt")) << text; }

  TempDir dir_;
  const Directory held_;
  VariableStore store_;
  proto::EvaluationState state_;
};

TEST_F(BestCheckpointTest, WhatIsWrittenIsRead) {
  EXPECT_EQ(ReadBestCheckpoint(held_)->has_value(), false);
  ASSERT_TRUE(WriteBestCheckpoint(held_, state_).ok());
  const auto read = ReadBestCheckpoint(dir_.path());
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
  EXPECT_EQ(EvaluationText(**read), EvaluationText(state_));
  const auto metrics = BestMetrics(**read);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].first, "confusion");
  EXPECT_EQ(metrics[0].second, MetricValue({2, 2}, {1, 2.5, 0, 0.1}));
  state_.clear_best();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(WriteBestCheckpoint(held_, state_).ok());
  EXPECT_EQ(ReadBestCheckpoint(held_)->has_value(), false);
}

TEST_F(BestCheckpointTest, DamageIsTold) {
  for (const char* text :
       {"best_step: x", "", "best_step: 7 unknown: 1", "\xff\xfe",
        "best_step: 7 best_metric { name: 'a' dim: 2 value: 1 }",
        "best_step: 7 best_metric { name: 'a' dim: -1 value: 1 }",
        "best_step: 7 best_metric { dim: 4611686018427387904 dim: 4 dim: 4 value: 1 }"}) {
    Write(text);
    const absl::Status status = ReadBestCheckpoint(dir_.path()).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("best_checkpoint.pbtxt:1:"));
  }
}

TEST_F(BestCheckpointTest, ItIsTheCheckpointThatWasEvaluated) {
  Checkpoint(1);
  const absl::StatusOr<std::string> identity = CheckpointIdentity(dir_.Path("model.ckpt-7"));
  ASSERT_TRUE(identity.ok()) << identity.status();
  state_.set_best_identity(*identity);
  ASSERT_TRUE(WriteBestCheckpoint(held_, state_).ok());
  EXPECT_EQ(*FindBestCheckpoint(dir_.path()), dir_.Path("model.ckpt-7"));
  Checkpoint(2);
  EXPECT_EQ(ExitCode(FindBestCheckpoint(dir_.path()).status()), 66);
  Checkpoint(1);  // the same again
  EXPECT_EQ(*FindBestCheckpoint(dir_.path()), dir_.Path("model.ckpt-7"));
  ASSERT_TRUE(RemoveFile({held_, BundleIndexPath("model.ckpt-7")}).ok());
  const absl::Status gone = FindBestCheckpoint(dir_.path()).status();
  EXPECT_EQ(ExitCode(gone), 66);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("model.ckpt-7, is gone; run train_and_"));
}

}  // namespace
}  // namespace tpurun
