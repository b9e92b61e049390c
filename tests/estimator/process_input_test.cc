// The input of processes that train together: what all of them feed is what one process feeds, and
// so are their positions.
#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/estimator/setup.h"
#include "runtime/session/call_input_fn.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using Form = proto::TPUConfig;

constexpr int kSteps = 12;
constexpr char kParse[] =
    "transform { decode_csv { column { name: \"x\" dtype: FLOAT32 shape: 2 } "
    "column { name: \"id\" dtype: INT32 } } } ";
constexpr char kShuffled[] =
    "transform { shuffle { buffer_size: 50 } } transform { repeat {} } transform { batch {} }";

struct Case {
  std::string name;
  Form::InputPipelineConfig form;
  ModeKey mode = ModeKey::kTrain;
  std::string transforms = kShuffled;
  std::string file = "rows";
  std::string fields = "";
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// What a process, or all of them, feeds in the steps of a run.
struct Fed {
  int64_t examples_per_epoch = 0;
  // By step: for each slot the bytes of the replicas in order; then the forwarded features.
  std::vector<std::vector<std::string>> steps;
  std::vector<int64_t> rows;           // by step, if padding
  std::vector<std::string> positions;  // in TRAIN: before each step and at the end
  absl::Status end;                    // why there were no more steps
};

class ProcessInputTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::ofstream rows(dir_.Path("rows")), bad(dir_.Path("bad"));
    for (int row = 0; row < 333; ++row) {
      const std::string line = absl::StrCat(row, ",", row * 0.5, ",", row, "\n");
      rows << line;
      bad << (row % 10 == 3 || row / 20 == 5 ? "oops\n" : line);
    }
  }

  static InputDeployment Deployment(const EstimatorOptions& options) {
    return DeploymentOf(options, GetParam().mode);
  }

  static EstimatorOptions OptionsOf(int num_replicas, int num_processes, int process) {
    EstimatorOptions options;
    Form& tpu = *options.config.mutable_tpu_config();
    if (GetParam().form == Form::SLICED) {
      tpu.set_eval_training_input_configuration(Form::SLICED);
    } else {
      tpu.set_per_host_input_for_training(GetParam().form);
    }
    const int batch = 4 * num_replicas;
    options.config.set_train_batch_size(batch);
    options.config.set_eval_batch_size(batch);
    options.config.set_predict_batch_size(batch);
    options.topology = {.num_hosts = num_replicas / 8,
                        .num_of_replicas_per_host = 8,
                        .num_processes = num_processes,
                        .process = process};
    return options;
  }

  // `position` is of all processes.
  Fed FeedProcess(const EstimatorOptions& options, int steps,
                  const std::optional<std::string>& position) {
    const Case& c = GetParam();
    const InputDeployment deployment = Deployment(options);
    Fed fed;
    const auto input_fn =
        InputFnOf(absl::StrCat("train { input { ", c.fields, " source { text_line { file: \"",
                               c.file, "\" } } ", kParse, c.transforms, " } }"),
                  dir_.path());
    EXPECT_TRUE(input_fn.ok()) << input_fn.status();
    InputFnArgs args{.mode = c.mode,
                     .features = ParseFeatures("x f32[2] id s32[]"),
                     .count_examples = c.mode == ModeKey::kTrain};
    if (c.mode == ModeKey::kPredict) args.forward_features = {"id"};
    auto input = CallInputFn(*input_fn, deployment, args);
    EXPECT_TRUE(input.ok()) << input.status();
    fed.examples_per_epoch = input->examples_per_epoch;
    if (position.has_value()) {
      const auto local = LocalPosition(*position, deployment);
      EXPECT_TRUE(local.ok()) << local.status();
      const absl::Status restored = input->batches->Restore(*local);
      EXPECT_TRUE(restored.ok()) << restored << " of " << *local;
    }
    const bool pads = c.mode != ModeKey::kTrain;
    const int64_t rows = deployment.batch_per_replica();
    CoreProgram program;
    program.num_replicas = deployment.num_replicas;
    program.infeed = {{"x", {DType::kF32, {rows, 2}}}, {"id", {DType::kS32, {rows}}}};
    if (pads) program.infeed.push_back({kRowWeightSlot, {DType::kF32, {rows}}});
    const auto infeed = CreateInfeed(options, c.mode, "", 1, *input, program,
                                     {.num_batches = steps,
                                      .pad = pads,
                                      .ended_message = [](int64_t) { return "ended"; },
                                      .classes = classes_});
    EXPECT_TRUE(infeed.ok()) << infeed.status();
    (*infeed)->Start();
    const SlotLayout layout = LayoutOf(program.infeed, deployment.local_replicas());
    const auto remember = [&](int64_t step) {
      if (!pads) fed.positions.push_back((*infeed)->PositionAfter(step).value());
    };
    remember(0);
    for (int step = 1; step <= steps; ++step) {
      const auto entry = (*infeed)->ring().Front();
      fed.end = entry.status();
      if (!entry.ok()) break;
      std::vector<std::string>& slots = fed.steps.emplace_back();
      for (size_t slot = 0; slot < program.infeed.size(); ++slot) {
        slots.emplace_back(reinterpret_cast<const char*>(*entry) + layout.offsets[slot],
                           layout.replica_bytes[slot] * deployment.local_replicas());
      }
      (*infeed)->ring().Pop();
      remember(step);
      if (!pads) continue;
      fed.rows.push_back((*infeed)->TakeRows());
      for (const HostFeature& feature : (*infeed)->TakeForwarded()) {
        slots.emplace_back(reinterpret_cast<const char*>(feature.numbers.data()),
                           feature.numbers.size());
      }
    }
    return fed;
  }

  // All processes after each other, joined.
  Fed Feed(int num_replicas, int num_processes, int steps = kSteps,
           const std::optional<std::string>& position = std::nullopt) {
    std::vector<Fed> of_processes;
    for (int process = 0; process < num_processes; ++process) {
      of_processes.push_back(
          FeedProcess(OptionsOf(num_replicas, num_processes, process), steps, position));
    }
    const InputDeployment deployment = Deployment(OptionsOf(num_replicas, num_processes, 0));
    Fed all = of_processes[0];
    for (int process = 1; process < num_processes; ++process) {
      const Fed& fed = of_processes[process];
      EXPECT_EQ(fed.examples_per_epoch, all.examples_per_epoch);
      // The run ends where the first process does. In EVAL and PREDICT all end together.
      if (GetParam().mode != ModeKey::kTrain) {
        EXPECT_EQ(fed.steps.size(), all.steps.size());
      }
      all.steps.resize(std::min(all.steps.size(), fed.steps.size()));
      for (size_t step = 0; step < all.steps.size(); ++step) {
        for (size_t i = 0; i < all.steps[step].size(); ++i) {
          // Each process forwards the whole batch.
          if (i < 3) {
            all.steps[step][i] += fed.steps[step][i];
          } else {
            EXPECT_EQ(fed.steps[step][i], all.steps[step][i]);
          }
        }
      }
      EXPECT_EQ(fed.rows, all.rows);
    }
    all.positions.clear();
    if (GetParam().mode != ModeKey::kTrain) return all;
    for (size_t step = 0; step <= all.steps.size(); ++step) {
      std::vector<std::string> positions;
      for (const Fed& fed : of_processes) positions.push_back(fed.positions[step]);
      const auto joined = JoinPositions(positions, deployment);
      EXPECT_TRUE(joined.ok()) << joined.status();
      all.positions.push_back(joined.value_or(""));
    }
    return all;
  }

  const TempDir dir_;
  std::map<std::string, int64_t> classes_;  // of the model, by feature
};

TEST_P(ProcessInputTest, AllProcessesFeedWhatOneFeeds) {
  for (const int num_replicas : {16, 32}) {
    const Fed want = Feed(num_replicas, 1);
    ASSERT_GT(want.steps.size(), 1);
    for (const int num_processes : {2, 4, 8}) {
      const Fed got = Feed(num_replicas, num_processes);
      EXPECT_EQ(got.steps, want.steps) << num_replicas << " replicas, " << num_processes;
      EXPECT_EQ(got.end, want.end);
      EXPECT_EQ(got.rows, want.rows);
      EXPECT_EQ(got.positions, want.positions);
      EXPECT_EQ(got.examples_per_epoch, want.examples_per_epoch);
    }
  }
}

TEST_P(ProcessInputTest, AnyNumberOfProcessesGoesOnFromAPosition) {
  if (GetParam().mode != ModeKey::kTrain) return;
  const Fed whole = Feed(16, 1);
  for (const size_t stop : {size_t{1}, whole.steps.size() / 2}) {
    const std::vector<std::vector<std::string>> want(whole.steps.begin() + stop, whole.steps.end());
    for (const int num_processes : {1, 2, 4}) {
      const Fed rest =
          Feed(16, num_processes, kSteps - static_cast<int>(stop), whole.positions[stop]);
      EXPECT_EQ(rest.steps, want) << num_processes << " processes from step " << stop;
      EXPECT_EQ(rest.positions.back(), whole.positions.back());
    }
  }
}

class ProcessErrorTest : public ProcessInputTest {};

TEST_P(ProcessErrorTest, TheFirstErrorIsThatOfOneProcess) {
  if (GetParam().file == "rows") classes_ = {{"id", 150}};
  for (const int num_processes : {1, 2, 4, 8}) {
    const Fed want = FeedProcess(OptionsOf(16, 1, 0), kSteps, std::nullopt);
    EXPECT_TRUE(absl::IsDataLoss(want.end)) << want.end;
    Fed first;
    for (int process = 0; process < num_processes; ++process) {
      Fed fed = FeedProcess(OptionsOf(16, num_processes, process), kSteps, std::nullopt);
      if (process == 0 || fed.steps.size() < first.steps.size()) first = std::move(fed);
    }
    EXPECT_EQ(first.steps.size(), want.steps.size());
    EXPECT_EQ(first.end, want.end);
  }
}

constexpr char kCached[] =
    "transform { cache {} } transform { shuffle { buffer_size: 1000 } } transform { repeat {} } "
    "transform { batch {} }";
constexpr char kMixed[] =
    "transform { shuffle { buffer_size: 50 } } transform { repeat {} } "
    "transform { batch { mixup { alpha: 0.5 feature: \"x\" } } }";
constexpr char kOnce[] =
    "transform { take { count: 300 } } transform { repeat { count: 1 } } "
    "transform { batch { drop_remainder: true } }";
constexpr char kWholeBatches[] =
    "transform { batch { drop_remainder: true } } transform { repeat {} }";
constexpr char kInOrder[] = "transform { batch {} }";
constexpr char kDropped[] = "transform { batch { drop_remainder: true } }";
constexpr char kSkip[] = "on_error: SKIP";

INSTANTIATE_TEST_SUITE_P(
    , ProcessInputTest,
    testing::Values(
        Case{"Shards", Form::PER_SHARD_V1}, Case{"Hosts", Form::PER_HOST_V1},
        Case{"InTurn", Form::PER_HOST_V2}, Case{"Broadcast", Form::BROADCAST},
        Case{"CachedShards", Form::PER_SHARD_V1, ModeKey::kTrain, kCached},
        Case{"CachedHosts", Form::PER_HOST_V1, ModeKey::kTrain, kCached},
        Case{"MixedHosts", Form::PER_HOST_V1, ModeKey::kTrain, kMixed},
        Case{"MixedInTurn", Form::PER_HOST_V2, ModeKey::kTrain, kMixed},
        Case{"MixedShards", Form::PER_SHARD_V1, ModeKey::kTrain, kMixed},
        Case{"SkippedHosts", Form::PER_HOST_V1, ModeKey::kTrain, kShuffled, "bad", kSkip},
        Case{"SkippedInTurn", Form::PER_HOST_V2, ModeKey::kTrain, kMixed, "bad", kSkip},
        Case{"OnceInTurn", Form::PER_HOST_V2, ModeKey::kTrain, kOnce},
        Case{"OnceHosts", Form::PER_HOST_V1, ModeKey::kTrain, kOnce},
        Case{"OnceShards", Form::PER_SHARD_V1, ModeKey::kTrain, kOnce},
        Case{"WholeBatchesInTurn", Form::PER_HOST_V2, ModeKey::kTrain, kWholeBatches},
        Case{"Evaluated", Form::PER_HOST_V1, ModeKey::kEval, kInOrder},
        Case{"EvaluatedInTurn", Form::PER_HOST_V2, ModeKey::kEval, kInOrder},
        Case{"EvaluatedSliced", Form::SLICED, ModeKey::kEval, kInOrder},
        Case{"EvaluatedBroadcast", Form::BROADCAST, ModeKey::kEval, kInOrder},
        Case{"EvaluatedDropped", Form::PER_HOST_V2, ModeKey::kEval, kDropped},
        Case{"EvaluatedSkipped", Form::PER_HOST_V1, ModeKey::kEval, kInOrder, "bad", kSkip},
        Case{"EvaluatedMixed", Form::PER_HOST_V1, ModeKey::kEval,
             "transform { batch { mixup { alpha: 0.5 feature: \"x\" } } }"},
        Case{"Predicted", Form::PER_HOST_V1, ModeKey::kPredict, kInOrder},
        Case{"PredictedCached", Form::PER_HOST_V1, ModeKey::kPredict,
             "transform { cache {} } transform { batch {} }"},
        Case{"PredictedSkipped", Form::PER_HOST_V1, ModeKey::kPredict, kInOrder, "bad", kSkip},
        Case{"PredictedBroadcast", Form::BROADCAST, ModeKey::kPredict, kInOrder}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    , ProcessErrorTest,
    testing::Values(Case{"Row", Form::PER_HOST_V1, ModeKey::kEval, kInOrder, "bad"},
                    Case{"RowInTurn", Form::PER_HOST_V2, ModeKey::kEval, kInOrder, "bad"},
                    Case{"Class", Form::PER_HOST_V1, ModeKey::kEval, kInOrder},
                    Case{"ClassOfAHost", Form::PER_HOST_V1, ModeKey::kTrain,
                         "transform { repeat {} }"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tpurun
