// What inputs of a trained model need of its training: written, told of in checkpoints, handed on.
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/estimator/estimator.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/io/identity.h"
#include "tests/estimator/toy.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::HasSubstr;

using Assets = std::map<std::string, std::string>;

class AssetsTest : public ::testing::Test {
 protected:
  Estimator Make(int64_t steps) {
    proto::RunConfig config;
    config.set_train_batch_size(4);
    config.set_eval_batch_size(4);
    config.set_model_dir(dir_.Path("m"));
    config.mutable_train()->set_max_steps(steps);
    config.mutable_train_and_evaluate()->set_steps_per_eval(5);
    config.mutable_train_and_evaluate()->mutable_monitor()->set_metric("loss");
    return Estimator(
        {.config = config,
         .model_fn = [this](const ModelFnArgs& args) { return ToyModel(optimizer_, args); },
         .features = {{.name = "x", .shape = {DType::kF32, {}}},
                      {.name = "y", .shape = {DType::kF32, {}}, .is_label = true}},
         .topology = {.num_of_replicas_per_host = 2},
         .num_workers = 1});
  }

  // An input with these assets, which keeps what it is called with.
  InputFn Input(const Assets& assets, bool endless = true) {
    const InputFn toy = ToyInput({.rows = {{1, 2}, {2, 4}, {3, 6}, {4, 8}}, .endless = endless});
    return [=, this](const InputFnArgs& args) -> absl::StatusOr<InputSource> {
      called_with_.push_back(args.trained);
      ASSIGN_OR_RETURN(InputSource source, toy(args));
      source.assets = assets;
      return source;
    };
  }

  absl::Status Train(int64_t steps, const Assets& assets) {
    return Make(steps).Train(Input(assets)).status();
  }
  Assets AssetsAt(int64_t step) {
    return Checkpoint::Open(CheckpointPrefix(dir_.Path("m"), step))->ReadRunState()->assets;
  }
  std::string There() { return *ReadFile(dir_.Path("m/words")); }

  const proto::Optimizer optimizer_ = Sgd(0.01);
  const TempDir dir_;
  std::vector<std::optional<TrainedFolder>> called_with_;
};

TEST_F(AssetsTest, ACheckpointSaysWhichTheyAre) {
  ASSERT_TRUE(Train(5, {{"words", "a b"}}).ok());
  EXPECT_EQ(There(), "a b");
  EXPECT_EQ(AssetsAt(0), (Assets{{"words", IdentityOf("a b")}}));
  EXPECT_EQ(AssetsAt(5), AssetsAt(0));
  ASSERT_TRUE(Train(10, {{"words", "a b"}}).ok());
  EXPECT_EQ(AssetsAt(10), AssetsAt(0));
  ASSERT_EQ(called_with_.size(), 2u);
  EXPECT_FALSE(called_with_[0].has_value());
  EXPECT_EQ(called_with_[1]->dir, dir_.Path("m"));
  EXPECT_EQ(called_with_[1]->assets, AssetsAt(0));
}

TEST_F(AssetsTest, WhatAnInputWithoutThemTrainsOnIsStillOfThem) {
  ASSERT_TRUE(Train(5, {{"words", "a b"}}).ok());
  ASSERT_TRUE(Train(10, {}).ok());
  EXPECT_EQ(AssetsAt(10), (Assets{{"words", IdentityOf("a b")}}));
}

TEST_F(AssetsTest, AnOldCheckpointHasNoneAndTheNextOneHas) {
  ASSERT_TRUE(Train(5, {}).ok());
  EXPECT_TRUE(AssetsAt(5).empty());
  ASSERT_TRUE(Train(10, {{"words", "a b"}}).ok());
  EXPECT_TRUE(called_with_.back()->assets.empty());
  EXPECT_EQ(There(), "a b");
  EXPECT_EQ(AssetsAt(10), (Assets{{"words", IdentityOf("a b")}}));
}

TEST_F(AssetsTest, AFileThatIsThereIsLeftAsItIs) {
  ASSERT_TRUE(Train(5, {{"words", "a b"}}).ok());
  // What the input has found to be the same.
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("m/words"), "a  b").ok());
  ASSERT_TRUE(Train(10, {{"words", "a b"}}).ok());
  EXPECT_EQ(There(), "a  b");
}

TEST_F(AssetsTest, OfAnotherFolderThanTheCheckpointsItIsNotTakenForTheSame) {
  ASSERT_TRUE(Train(5, {{"words", "a b"}}).ok());
  ASSERT_TRUE(MakeDirectories(dir_.Path("n")).ok());
  const auto use = [&](const std::string& from, const std::string& to) {
    std::filesystem::rename(dir_.Path(from), dir_.Path(to));
  };
  // `checkpoint` of m names the one in n.
  use("m", "n/old");
  ASSERT_TRUE(MakeDirectories(dir_.Path("m")).ok());
  const std::string old = dir_.Path("n/old/model.ckpt-5");
  ASSERT_TRUE(WriteCheckpointState(dir_.Path("m"), {.latest = old, .all = {old}}).ok());
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("m/words"), "b a").ok());
  const absl::Status refused = Train(10, {{"words", "a b"}});
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is there and is not what this training"));
  std::filesystem::remove(dir_.Path("m/words"));
  ASSERT_TRUE(Train(10, {{"words", "a b"}}).ok());
  EXPECT_EQ(There(), "a b");
}

TEST_F(AssetsTest, EvaluationsWhileItTrainsAndExportsAreToldOfThem) {
  const Assets want = {{"words", IdentityOf("a b")}};
  std::vector<std::optional<TrainedFolder>> trained;
  const InputFn evaluated = [&](const InputFnArgs& args) {
    trained.push_back(args.trained);
    return Input({}, /*endless=*/false)(args);
  };
  const auto run = [&](int64_t steps) {
    return Make(steps)
        .TrainAndEvaluate({.train = Input({{"words", "a b"}}),
                           .evaluations = {{{}, evaluated}},
                           .on_result = [](const Evaluation&) { return absl::OkStatus(); }})
        .status();
  };
  absl::Status done = run(5);
  ASSERT_TRUE(done.ok()) << done;
  ASSERT_EQ(trained.size(), 2u);  // looked at ahead, and run
  EXPECT_FALSE(trained[0].has_value());
  EXPECT_EQ(trained[1]->assets, want);
  done = run(10);
  ASSERT_TRUE(done.ok()) << done;
  ASSERT_GT(trained.size(), 3u);
  for (size_t i = 2; i < trained.size(); ++i) EXPECT_EQ(trained[i]->assets, want) << i;

  std::optional<TrainedFolder> exported;
  const auto refuse = [&](const TrainedFolder& of) -> absl::StatusOr<Assets> {
    exported = of;
    return absl::DataLossError("not these words");
  };
  const absl::Status refused = Make(10).Export({}, "", {.assets_fn = refuse}).status();
  EXPECT_EQ(refused, absl::DataLossError("not these words"));
  EXPECT_EQ(exported->assets, want);
  EXPECT_FALSE(FileExists(dir_.Path("m/export")));
}

}  // namespace
}  // namespace tpurun
