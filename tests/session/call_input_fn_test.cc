#include "runtime/session/call_input_fn.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The numbers of a shard up to `rows`, in order; its position after 7 of them is " 7 ".
class Numbers : public BatchSource {
 public:
  Numbers(const InputFnArgs& args, int64_t rows)
      : step_(args.batch_size * args.batches_per_step), shard_(args.shard), rows_(rows) {}

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    int64_t row = 0;
    for (; row < step_ && next_ * shard_.num_shards + shard_.index < rows_; ++row, ++next_) {
      const auto number = static_cast<float>(next_ * shard_.num_shards + shard_.index);
      reinterpret_cast<float*>(buffers[0])[row] = number;
      for (int i = 0; i < 2; ++i) reinterpret_cast<int32_t*>(buffers[1])[2 * row + i] = number + i;
    }
    return row;
  }
  std::string Position() const override { return absl::StrCat(" ", next_, " "); }
  absl::Status Restore(const std::string& position) override {
    const auto next = ParseInt64(position.substr(1, position.size() - 2));
    if (!next.has_value()) return absl::DataLossError("no number");
    next_ = *next;
    return absl::OkStatus();
  }
  std::string Where(int64_t row) const override {
    return absl::StrCat("row ", row, " of shard ", shard_.index);
  }

 private:
  const int64_t step_;
  const PipelineShard shard_;
  const int64_t rows_;
  int64_t next_ = 0;
};

InputFn NumbersBelow(int64_t rows) {
  return [rows](const InputFnArgs& args) -> absl::StatusOr<InputSource> {
    InputSource input;
    input.features = args.features;
    input.examples_per_epoch =
        (rows - args.shard.index + args.shard.num_shards - 1) / args.shard.num_shards;
    input.batches = std::make_unique<Numbers>(args, rows);
    return input;
  };
}

constexpr auto kPerShard = proto::TPUConfig::PER_SHARD_V1;
constexpr auto kInTurn = proto::TPUConfig::PER_HOST_V2;

InputSource Call(proto::TPUConfig::InputPipelineConfig form, int64_t rows) {
  const InputDeployment deployment = {.form = form, .num_replicas = 4, .batch_size = 8};
  auto input = CallInputFn(NumbersBelow(rows), deployment,
                           {.features = {{.name = "x", .shape = {DType::kF32, {}}},
                                         {.name = "y", .shape = {DType::kS32, {2}}}}});
  EXPECT_TRUE(input.ok()) << input.status();
  return *std::move(input);
}

// The x of the next step; those of y must go with them.
std::string Step(BatchSource& batches) {
  std::vector<float> x(8, -1);
  std::vector<int32_t> y(16, -1);
  std::byte* const buffers[] = {reinterpret_cast<std::byte*>(x.data()),
                                reinterpret_cast<std::byte*>(y.data())};
  const auto rows = batches.Next(buffers);
  EXPECT_TRUE(rows.ok()) << rows.status();
  x.resize(*rows);
  for (size_t row = 0; row < x.size(); ++row) {
    EXPECT_EQ(y[2 * row], x[row]);
    EXPECT_EQ(y[2 * row + 1], x[row] + 1);
  }
  return absl::StrJoin(x, " ");
}

TEST(CallInputFnTest, AStepIsABatchOfEachPipelineInTheOrderOfTheReplicas) {
  const InputSource sharded = Call(kPerShard, 100);
  EXPECT_EQ(Step(*sharded.batches), "0 4 1 5 2 6 3 7");
  EXPECT_EQ(Step(*sharded.batches), "8 12 9 13 10 14 11 15");
  EXPECT_EQ(sharded.batches->Where(5), "row 1 of shard 2");
  const InputSource in_turn = Call(kInTurn, 100);
  EXPECT_EQ(Step(*in_turn.batches), "0 1 2 3 4 5 6 7");
}

TEST(CallInputFnTest, TheExamplesOfAllPipelinesAreCounted) {
  EXPECT_EQ(Call(kPerShard, 30).examples_per_epoch, 30);
  EXPECT_EQ(Call(kInTurn, 30).examples_per_epoch, 30);
}

TEST(CallInputFnTest, ItEndsWithTheFirstPipelineThatHasNoWholeBatch) {
  // Of 14 numbers shards 2 and 3 have 3.
  const InputSource input = Call(kPerShard, 14);
  EXPECT_EQ(Step(*input.batches), "0 4 1 5 2 6 3 7");
  EXPECT_EQ(Step(*input.batches), "8 12 9 13 10");
}

TEST(CallInputFnTest, APositionIsThoseOfAllPipelines) {
  const InputSource input = Call(kPerShard, 1000);
  std::vector<std::string> positions, steps;
  for (int step = 0; step < 20; ++step) {
    positions.push_back(input.batches->Position());
    steps.push_back(Step(*input.batches));
  }
  EXPECT_EQ(positions[6], "4 shards 4  12  4  12  4  12  4  12 ");
  for (const int step : {19, 0, 7}) {
    const InputSource again = Call(kPerShard, 1000);
    ASSERT_TRUE(again.batches->Restore(positions[step]).ok());
    EXPECT_EQ(again.batches->Position(), positions[step]);
    for (int i = step; i < 20; ++i) EXPECT_EQ(Step(*again.batches), steps[i]);
  }
}

TEST(CallInputFnTest, ADamagedPositionIsRefused) {
  const InputSource input = Call(kPerShard, 1000);
  Step(*input.batches);
  const std::string position = input.batches->Position();
  for (size_t length = 0; length < position.size(); ++length) {
    EXPECT_FALSE(input.batches->Restore(position.substr(0, length)).ok()) << length;
  }
  EXPECT_TRUE(absl::IsDataLoss(input.batches->Restore(position + " ")));
  EXPECT_TRUE(absl::IsDataLoss(input.batches->Restore("4 shards 4  12  4  12  4  12  -1  12 ")));
  EXPECT_TRUE(absl::IsDataLoss(input.batches->Restore("4 shards 99999999999999999999 x")));
  EXPECT_TRUE(absl::IsInvalidArgument(input.batches->Restore("2 shards 3  1  3  1 ")));
}

TEST(CallInputFnTest, APositionTellsHowManyPipelinesItIsOf) {
  const InputDeployment one = {.form = kInTurn, .num_replicas = 4, .batch_size = 8};
  const InputDeployment four = {.form = kPerShard, .num_replicas = 4, .batch_size = 8};
  const std::string of_one = "text_line skip_lines 1 @ records 1 5";
  const std::string of_four = Call(kPerShard, 100).batches->Position();
  EXPECT_EQ(LocalPosition(of_one, one).value(), of_one);
  EXPECT_EQ(LocalPosition(of_four, four).value(), of_four);
  EXPECT_EQ(LocalPosition(of_four, one).status().ToString(),
            "INVALID_ARGUMENT: the saved input position is of 4 pipelines, this input has 1: "
            "per_host_input_for_training: PER_SHARD_V1 has one a core, BROADCAST one in all, the "
            "other forms one a host of 8 cores (tpu_config.num_shards)");
  EXPECT_TRUE(absl::IsInvalidArgument(LocalPosition(of_one, four).status()));
}

TEST(CallInputFnTest, ProcessesHaveTheirPartsOfAPosition) {
  const std::string whole = "4 shards 1 a 2 bb 0  1 d";
  InputDeployment deployment = {.form = kPerShard, .num_replicas = 4, .num_processes = 2};
  EXPECT_EQ(LocalPosition(whole, deployment).value(), "2 shards 1 a 2 bb");
  deployment.process = 1;
  EXPECT_EQ(LocalPosition(whole, deployment).value(), "2 shards 0  1 d");
  EXPECT_EQ(JoinPositions({"2 shards 1 a 2 bb", "2 shards 0  1 d"}, deployment).value(), whole);
  EXPECT_FALSE(JoinPositions({"2 shards 1 a 2 bb", "2 shards 0  1 "}, deployment).ok());
  EXPECT_FALSE(LocalPosition(whole + " ", deployment).ok());
  deployment.num_processes = 4;
  EXPECT_EQ(LocalPosition(whole, deployment).value(), "bb");
  EXPECT_EQ(JoinPositions({"a", "bb", "", "d"}, deployment).value(), whole);
}

TEST(CallInputFnTest, APositionThatProcessesShareIsThereOnce) {
  InputDeployment deployment = {
      .form = kInTurn, .num_replicas = 16, .num_hosts = 2, .num_processes = 4};
  EXPECT_EQ(JoinPositions({"a", "a", "bb", "bb"}, deployment).value(), "2 shards 1 a 2 bb");
  EXPECT_EQ(JoinPositions({"a", "a", "bb", "b"}, deployment).status().ToString(),
            "INTERNAL: processes 2 and 3 read the same pipeline and are at different positions");
  deployment.process = 2;
  EXPECT_EQ(LocalPosition("2 shards 1 a 2 bb", deployment).value(), "bb");
  deployment.form = proto::TPUConfig::BROADCAST;
  EXPECT_EQ(JoinPositions({"a", "a", "a", "a"}, deployment).value(), "a");
  EXPECT_EQ(LocalPosition("a", deployment).value(), "a");
}

TEST(InputDeploymentTest, BatchSizesAreThoseOfTPUEstimator) {
  // Form, mode; what input_fn and model_fn see of a batch of 1024, and calls of input_fn.
  struct Row {
    proto::TPUConfig::InputPipelineConfig form;
    ModeKey mode;
    int64_t input_fn, model_fn;
    int calls;
  };
  proto::TPUConfig tpu;
  for (const Row& row : {Row{proto::TPUConfig::PER_SHARD_V1, ModeKey::kTrain, 128, 128, 8},
                         Row{proto::TPUConfig::PER_SHARD_V1, ModeKey::kEval, 1024, 128, 1},
                         Row{proto::TPUConfig::PER_SHARD_V1, ModeKey::kPredict, 1024, 128, 1},
                         Row{proto::TPUConfig::PER_HOST_V1, ModeKey::kTrain, 1024, 128, 1},
                         Row{proto::TPUConfig::PER_HOST_V2, ModeKey::kTrain, 128, 128, 1},
                         Row{proto::TPUConfig::PER_HOST_V2, ModeKey::kPredict, 128, 128, 1},
                         Row{proto::TPUConfig::BROADCAST, ModeKey::kTrain, 1024, 1024, 1},
                         Row{proto::TPUConfig::BROADCAST, ModeKey::kEval, 1024, 1024, 1}}) {
    tpu.set_per_host_input_for_training(row.form);
    tpu.clear_eval_training_input_configuration();
    const InputDeployment device = DeployInput(tpu, kDevice, row.mode, 1024);
    EXPECT_EQ(device.pipeline_batch_size(), row.input_fn);
    EXPECT_EQ(device.batch_per_replica(), row.model_fn);
    EXPECT_EQ(device.num_pipelines(), row.calls);
    // One replica has all of it.
    const InputDeployment cpu = DeployInput(tpu, Topology(), row.mode, 1023);
    EXPECT_EQ(cpu.pipeline_batch_size(), 1023);
    EXPECT_EQ(cpu.batch_per_replica(), 1023);
    EXPECT_EQ(cpu.num_pipelines(), 1);
    EXPECT_EQ(cpu.batches_per_step(), 1);
    if (row.mode == ModeKey::kTrain) continue;
    tpu.set_eval_training_input_configuration(proto::TPUConfig::SLICED);
    const InputDeployment sliced = DeployInput(tpu, kDevice, row.mode, 1024);
    EXPECT_EQ(sliced.pipeline_batch_size(), 1024);
    EXPECT_EQ(sliced.batch_per_replica(), 128);
    EXPECT_EQ(sliced.counted_replicas(), 8);
  }
}

TEST(InputDeploymentTest, EachHostHasAPipelineInTraining) {
  // Form, mode; of a batch of 1024 on 32 cores: the batch of a pipeline, its batches in a step,
  // that of a core, pipelines.
  struct Row {
    proto::TPUConfig::InputPipelineConfig form;
    ModeKey mode;
    int64_t batch, in_a_step, of_core;
    int pipelines;
  };
  const Topology four_hosts = {.num_hosts = 4, .num_of_replicas_per_host = 8};
  for (const Row& row : {Row{proto::TPUConfig::PER_SHARD_V1, ModeKey::kTrain, 32, 1, 32, 32},
                         Row{proto::TPUConfig::PER_SHARD_V1, ModeKey::kEval, 1024, 1, 32, 1},
                         Row{proto::TPUConfig::PER_HOST_V1, ModeKey::kTrain, 256, 1, 32, 4},
                         Row{proto::TPUConfig::PER_HOST_V1, ModeKey::kPredict, 1024, 1, 32, 1},
                         Row{proto::TPUConfig::PER_HOST_V2, ModeKey::kTrain, 32, 8, 32, 4},
                         Row{proto::TPUConfig::PER_HOST_V2, ModeKey::kEval, 32, 32, 32, 1},
                         Row{proto::TPUConfig::BROADCAST, ModeKey::kTrain, 1024, 1, 1024, 1}}) {
    proto::TPUConfig tpu;
    tpu.set_per_host_input_for_training(row.form);
    const InputDeployment device = DeployInput(tpu, four_hosts, row.mode, 1024);
    EXPECT_EQ(device.pipeline_batch_size(), row.batch);
    EXPECT_EQ(device.batches_per_step(), row.in_a_step);
    EXPECT_EQ(device.batch_per_replica(), row.of_core);
    EXPECT_EQ(device.num_pipelines(), row.pipelines);
  }
}

TEST(InputDeploymentTest, AProcessHasThePipelinesOfItsReplicas) {
  // Form; of 32 cores the processes, and of process 3: its pipelines and the rows of them.
  struct Row {
    proto::TPUConfig::InputPipelineConfig form;
    int processes, first, pipelines;
    int64_t begin, count;
  };
  for (const Row& row : {Row{proto::TPUConfig::PER_SHARD_V1, 4, 24, 8, 0, -1},
                         Row{proto::TPUConfig::PER_HOST_V1, 4, 3, 1, 0, -1},
                         Row{proto::TPUConfig::PER_HOST_V1, 8, 1, 1, 128, 128},
                         Row{proto::TPUConfig::PER_HOST_V2, 16, 0, 1, 192, 64},
                         Row{proto::TPUConfig::BROADCAST, 8, 0, 1, 0, -1}}) {
    proto::TPUConfig tpu;
    tpu.set_per_host_input_for_training(row.form);
    const Topology topology = {.num_hosts = 4,
                               .num_of_replicas_per_host = 8,
                               .num_processes = row.processes,
                               .process = 3};
    const InputDeployment device = DeployInput(tpu, topology, ModeKey::kTrain, 1024);
    EXPECT_EQ(device.first_pipeline(), row.first);
    EXPECT_EQ(device.local_pipelines(), row.pipelines);
    EXPECT_EQ(device.local_rows().begin, row.begin);
    EXPECT_EQ(device.local_rows().count, row.count);
  }
}

}  // namespace
}  // namespace tpurun
