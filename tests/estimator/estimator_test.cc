#include "runtime/estimator/estimator.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/event_reader.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "tests/estimator/toy_estimator.h"

namespace tpurun {
namespace {

TEST_F(EstimatorTest, TrainsToMaxStepsAndThenSkips) {
  const Setup setup = {.config = "train { max_steps: 12 }"};
  const auto result = Train(setup, Line(10, true));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->global_step, 12);
  EXPECT_EQ(result->steps, 12);
  EXPECT_EQ(result->checkpoint, dir_.Path("m/model.ckpt-12"));
  const std::vector<std::string> files = Files("m");
  const auto again = Train(setup, Line(10, true));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->skipped);
  EXPECT_EQ(again->global_step, 12);
  EXPECT_EQ(Files("m"), files);
}

TEST_F(EstimatorTest, StepsCountFromTheCheckpointAndEpochsFromZero) {
  ASSERT_TRUE(Train({.config = "train { steps: 3 }"}, Line(10, true)).ok());
  EXPECT_EQ(Train({.config = "train { steps: 3 }"}, Line(10, true))->global_step, 6);
  // 3.5 epochs of 10 examples in batches of 4.
  const auto epochs = Train({.config = "train { epochs: 3.5 }"}, Line(10, false));
  ASSERT_TRUE(epochs.ok()) << epochs.status();
  EXPECT_EQ(epochs->global_step, 8);
  EXPECT_EQ(epochs->steps, 2);
}

// 2^63 - 1 of a number means: to the end.
TEST_F(EstimatorTest, NoNumberOfStepsIsTooLarge) {
  ASSERT_TRUE(Train({.config = "train { steps: 3 }"}, Line(10, true)).ok());
  const std::string kPeriods =
      " save_checkpoints_steps: 9223372036854775807 save_summary_steps: 9223372036854775807 "
      "log_step_count_steps: 9223372036854775807";
  for (const char* const train : {"steps", "max_steps"}) {
    const auto ended =
        Train({.dir = absl::StrCat("of_", train),
               .config = absl::StrCat("train { ", train, ": 9223372036854775807 }", kPeriods)},
              Line(10, false));
    EXPECT_TRUE(absl::IsOutOfRange(ended.status())) << ended.status();
    EXPECT_EQ(ended.status().message(),
              absl::StrCat("the training input ended after step 2 of 9223372036854775807: "
                           "9223372036854775805 steps, 36893488147419103220 examples, are missing; "
                           "repeat it without a count (a pipe after a cache), or train for fewer "
                           "steps; checkpoint saved: ",
                           dir_.Path(absl::StrCat("of_", train, "/model.ckpt-2"))));
  }
  std::atomic<int> interrupt = 0;
  const auto more = Train({.config = "train { steps: 9223372036854775807 }" + kPeriods,
                           .interrupt_after_loop = &interrupt},
                          Line(10, true));
  EXPECT_TRUE(absl::IsCancelled(more.status())) << more.status();
  EXPECT_EQ(*ResolveCheckpoint(dir_.Path("m")), dir_.Path("m/model.ckpt-8"));
}

// Cut at steps that are no multiples of anything.
TEST_F(EstimatorTest, ResumedRunsEqualAnUninterruptedOneBitForBit) {
  ASSERT_TRUE(Train({.dir = "whole", .config = "train { max_steps: 400 }"}, Line(10, true)).ok());
  for (const int64_t step : {1, 7, 64, 65, 399, 400}) {
    const auto part =
        Train({.dir = "parts", .config = absl::StrCat("train { max_steps: ", step, " }")},
              Line(10, true));
    ASSERT_TRUE(part.ok()) << part.status();
  }
  EXPECT_EQ(Bytes("parts", 400), Bytes("whole", 400));
}

TEST_F(EstimatorTest, APipelineOfEachCoreGoesOnWhereItWas) {
  const std::string form = "tpu_config { per_host_input_for_training: PER_SHARD_V1 }";
  const auto train = [&](const std::string& dir, int steps, const ToyRows& rows,
                         const std::string& config) {
    return *Train({.dir = dir, .config = absl::StrCat("train { max_steps: ", steps, " } ", config)},
                  rows);
  };
  const TrainResult sharded = train("sharded", 23, Line(10, true), form);
  for (const int steps : {1, 2, 8, 23}) train("broken", steps, Line(10, true), form);
  EXPECT_EQ(Bytes("broken", 23), Bytes("sharded", 23));
  // What one pipeline of these rows in this order gives: 2 rows a core, of every second one.
  const ToyRows line = Line(10, true);
  ToyRows dealt{.endless = true};
  for (const int row : {0, 2, 1, 3, 4, 6, 5, 7, 8, 0, 9, 1, 2, 4, 3, 5, 6, 8, 7, 9}) {
    dealt.rows.push_back(line.rows[row]);
  }
  const TrainResult whole = train("dealt", 23, dealt, "");
  EXPECT_EQ(sharded.last_step->loss, whole.last_step->loss);
  EXPECT_EQ(sharded.last_step->loss_shard_0, whole.last_step->loss_shard_0);
  EXPECT_NE(sharded.last_step->loss, train("whole", 23, line, "").last_step->loss);
}

TEST_F(EstimatorTest, EveryCoreMayHaveTheWholeBatch) {
  const std::string form = "tpu_config { per_host_input_for_training: BROADCAST }";
  const std::string config = "train_batch_size: 5 train { max_steps: 7 } ";
  const auto broadcast =
      Train({.dir = "broadcast", .config = config + form, .num_replicas = 2}, Line(10, true));
  ASSERT_TRUE(broadcast.ok()) << broadcast.status();
  EXPECT_EQ(broadcast->last_step->loss_shard_0, static_cast<float>(broadcast->last_step->loss));
  const auto alone = Train({.dir = "alone", .config = config, .num_replicas = 1}, Line(10, true));
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(broadcast->last_step->loss, alone->last_step->loss);
  EXPECT_NEAR(broadcast->examples_per_second * broadcast->seconds, 5 * 7, 1e-6);
}

TEST_F(EstimatorTest, WorkersAndLoopLengthsDoNotChangeTheBits) {
  for (const int replicas : {1, 2}) {
    const std::string whole = absl::StrCat("r", replicas);
    ASSERT_TRUE(Train({.dir = whole, .config = "train { max_steps: 30 }", .num_replicas = replicas},
                      Line(10, true))
                    .ok());
    for (const int workers : {1, 2, 3}) {
      const std::string dir = absl::StrCat(whole, "w", workers);
      const std::string config = absl::StrCat(
          "train { max_steps: 30 } tpu_config { "
          "iterations_per_loop: '",
          6 * workers + 1, "' }");
      ASSERT_TRUE(
          Train({.dir = dir, .config = config, .num_replicas = replicas, .num_workers = workers},
                Line(10, true))
              .ok());
      EXPECT_EQ(Bytes(dir, 30), Bytes(whole, 30)) << dir;
    }
  }
}

TEST_F(EstimatorTest, AnInputThatEndsIsSavedAtItsLastWholeBatch) {
  const auto result = Train({.config = "train { max_steps: 9 }"}, Line(11, false));
  EXPECT_TRUE(absl::IsOutOfRange(result.status()));
  EXPECT_EQ(
      result.status().message(),
      "the training input ended after step 2 of 9: 7 steps, 28 examples, are missing; repeat "
      "it without a count (a pipe after a cache), or train for fewer steps; checkpoint saved: " +
          dir_.Path("m/model.ckpt-2"));
  EXPECT_EQ(*ResolveCheckpoint(dir_.Path("m")), dir_.Path("m/model.ckpt-2"));
}

TEST_F(EstimatorTest, AnInputWithoutABatchWritesNothing) {
  EXPECT_TRUE(
      absl::IsOutOfRange(Train({.config = "train { max_steps: 9 }"}, Line(3, false)).status()));
  EXPECT_FALSE(IsDirectory(dir_.Path("m")));
}

constexpr char kNaNInRow10[] =
    "NaN or infinity in the loss at step 3: feature \"x\" is NaN in row 2 of the batch (the batch "
    "ends with toy row 11)";

TEST_F(EstimatorTest, NaNInTheFirstLoopNamesFeatureAndRowAndLeavesNothing) {
  ToyRows rows = Line(20, false);
  rows.rows[9].first = std::numeric_limits<float>::quiet_NaN();
  const auto result = Train({.config = "train { max_steps: 4 }"}, rows);
  EXPECT_TRUE(absl::IsAborted(result.status()));
  EXPECT_EQ(result.status().message(), kNaNInRow10);
  EXPECT_FALSE(IsDirectory(dir_.Path("m")));
}

TEST_F(EstimatorTest, NaNInALaterLoopKeepsTheCheckpoint) {
  ToyRows rows = Line(20, false);
  rows.rows[9].first = std::numeric_limits<float>::quiet_NaN();
  const auto result = Train({.config = "train { max_steps: 4 } save_checkpoints_steps: 1 "
                                       "tpu_config { iterations_per_loop: '1' }"},
                            rows);
  EXPECT_TRUE(absl::IsAborted(result.status()));
  EXPECT_EQ(result.status().message(), absl::StrCat(kNaNInRow10, "; the last good checkpoint is ",
                                                    dir_.Path("m/model.ckpt-2")));
  EXPECT_EQ(*ResolveCheckpoint(dir_.Path("m")), dir_.Path("m/model.ckpt-2"));
}

TEST_F(EstimatorTest, DivergenceNamesTheNodeThatOverflows) {
  const auto result =
      Train({.config = "train { max_steps: 100 }", .learning_rate = 1e15}, Line(20, true));
  EXPECT_TRUE(absl::IsAborted(result.status()));
  EXPECT_NE(result.status().message().find("first in node \"square\""), absl::string_view::npos)
      << result.status();
}

// Row 22, in step 6, gives a finite loss of about 1e37 and a gradient that 100 times overflows.
ToyRows SteepRows() {
  ToyRows rows;
  for (int i = 0; i < 60; ++i) rows.rows.push_back({0.05f, 0.15f});
  rows.rows[22] = {2e18f, 0.f};
  return rows;
}

constexpr char kSteep[] =
    "NaN or infinity in the weights at step 6: variable \"w\" f32[] is -inf, first in node "
    "\"gradient_descent/update_w/mul\" (mul) (the batch ends with toy row 23); lower the learning "
    "rate, or mend the model there";

TEST_F(EstimatorTest, AWeightThatOverflowsIsFoundAtItsStepWhateverTheWorkersAndLoops) {
  for (const int workers : {1, 2, 8}) {
    for (const int loop : {1, 4, 500}) {
      const std::string dir = absl::StrCat("m", workers, "_", loop);
      const absl::Status status =
          Train({.dir = dir,
                 .config = absl::StrCat("train { max_steps: 15 } save_checkpoints_steps: 1 "
                                        "tpu_config { iterations_per_loop: '",
                                        loop, "' }"),
                 .num_workers = workers,
                 .learning_rate = 100},
                SteepRows())
              .status();
      EXPECT_TRUE(absl::IsAborted(status));
      if (loop == 500) {
        EXPECT_EQ(status.message(), kSteep);
        EXPECT_FALSE(IsDirectory(dir_.Path(dir)));
        continue;
      }
      const std::string good = dir_.Path(absl::StrCat(dir, "/model.ckpt-", loop == 1 ? 5 : 4));
      EXPECT_EQ(status.message(), absl::StrCat(kSteep, "; the last good checkpoint is ", good));
      EXPECT_EQ(*ResolveCheckpoint(dir_.Path(dir)), good);
    }
  }
}

TEST_F(EstimatorTest, WithoutACheckpointTheReplayBeginsAtTheStart) {
  const absl::Status status =
      Train({.config = "train { max_steps: 15 } save_checkpoints_steps: 0", .learning_rate = 100},
            SteepRows())
          .status();
  EXPECT_EQ(status.message(), kSteep);
}

TEST_F(EstimatorTest, AResumedRunIsReplayedFromWhereItWentOn) {
  for (const int saves : {0, 1}) {
    const std::string dir = absl::StrCat("m", saves);
    ASSERT_TRUE(
        Train({.dir = dir, .config = "train { max_steps: 3 }", .learning_rate = 100}, SteepRows())
            .ok());
    const absl::Status status =
        Train({.dir = dir,
               .config = absl::StrCat("train { max_steps: 15 } save_checkpoints_steps: ", saves),
               .learning_rate = 100},
              SteepRows())
            .status();
    const std::string good = dir_.Path(dir + "/model.ckpt-3");
    EXPECT_EQ(status.message(), absl::StrCat(kSteep, "; the last good checkpoint is ", good));
    EXPECT_EQ(*ResolveCheckpoint(dir_.Path(dir)), good);
  }
}

// Reads its rows once, as a pipe does.
class OnceSource : public ToySource {
 public:
  using ToySource::ToySource;
  absl::Status Restore(const std::string&) override {
    return absl::FailedPreconditionError("the pipe cannot be read again");
  }
};

TEST_F(EstimatorTest, WithoutAReplayTheVariableAndTheStepAreNamed) {
  const InputFn once = [](const InputFnArgs& args) -> absl::StatusOr<InputSource> {
    ASSIGN_OR_RETURN(InputSource input, ToyInput(SteepRows())(args));
    input.batches = std::make_unique<OnceSource>(SteepRows(), args.batch_size, 2);
    return input;
  };
  const absl::Status status =
      Make({.config = "train { max_steps: 15 }", .learning_rate = 100}).Train(once).status();
  EXPECT_EQ(status.message(),
            absl::StrCat("NaN or infinity in the weights at step 6: variable \"w\" f32[] is -inf; "
                         "what made it so is not known: the pipe cannot be read again; lower the "
                         "learning rate; the last good checkpoint is ",
                         dir_.Path("m/model.ckpt-0")));
}

TEST_F(EstimatorTest, WithoutItsCheckpointThereIsNoReplay) {
  const auto remove = [this] { std::remove(BundleIndexPath(dir_.Path("m/model.ckpt-0")).c_str()); };
  const absl::Status status =
      Train({.config = "train { max_steps: 15 }", .learning_rate = 100, .after_loop = remove},
            SteepRows())
          .status();
  const std::string want =
      "NaN or infinity in the weights at step 6: variable \"w\" f32[] is -inf; what made it so is "
      "not known: ";
  EXPECT_EQ(std::string(status.message()).substr(0, want.size()), want);
  EXPECT_NE(status.message().find("model.ckpt-0.index"), absl::string_view::npos) << status;
}

TEST_F(EstimatorTest, AnInterruptSavesAndTheNextCallGoesOn) {
  ASSERT_TRUE(Train({.dir = "whole", .config = "train { max_steps: 9 }"}, Line(10, true)).ok());
  std::atomic<int> interrupt = 0;
  const absl::Status status =
      Train({.config = "train { max_steps: 9 }", .interrupt_after_loop = &interrupt},
            Line(10, true))
          .status();
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_EQ(status.message(),
            absl::StrCat("interrupted after step 5 of 9; checkpoint saved: ",
                         dir_.Path("m/model.ckpt-5"), "; start it again to go on"));
  EXPECT_EQ(*ResolveCheckpoint(dir_.Path("m")), dir_.Path("m/model.ckpt-5"));
  ASSERT_TRUE(Train({.config = "train { max_steps: 9 }"}, Line(10, true)).ok());
  EXPECT_EQ(Bytes("m", 9), Bytes("whole", 9));
}

TEST_F(EstimatorTest, AnInterruptBeforeTheFirstBatchWritesNothing) {
  std::atomic<int> interrupt = 0;
  ToyRows rows = Line(10, true);
  rows.before_batch = [&interrupt] {
    interrupt = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  };
  const absl::Status status =
      Train({.config = "train { max_steps: 9 }", .interrupt_after_loop = &interrupt}, rows)
          .status();
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_EQ(status.message(), "interrupted while waiting for the first batch; nothing was written");
  EXPECT_TRUE(Files("m").empty());
}

TEST_F(EstimatorTest, CheckpointsOffMeansNone) {
  const Setup setup = {.config = "train { max_steps: 9 } save_checkpoints_steps: 0"};
  const auto result = Train(setup, Line(10, true));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->checkpoint, "");
  for (const std::string& name : Files("m"))
    EXPECT_EQ(name.find("ckpt"), std::string::npos) << name;
}

TEST_F(EstimatorTest, SavesOnTheFirstLoopBoundaryThatIsDue) {
  const Setup setup = {.config = "train { max_steps: 12 } save_checkpoints_steps: 3"};
  ASSERT_TRUE(Train(setup, Line(10, true)).ok());  // loops of 5
  std::vector<std::string> steps;
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(dir_.Path("m"));
  ASSERT_TRUE(state.ok()) << state.status();
  for (const std::string& prefix : state->all) {
    steps.push_back(BaseName(prefix));
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"model.ckpt-0", "model.ckpt-5", "model.ckpt-10",
                                             "model.ckpt-12"}));
}

// "5 loss", "5 checkpoint DIR/model.ckpt", "1 start" ..., in file order.
std::vector<std::string> EventsIn(const std::string& dir) {
  std::vector<std::string> events;
  const auto names = ListDirectory(dir);
  EXPECT_TRUE(names.ok()) << names.status();
  for (const std::string& name : *names) {
    if (!name.starts_with("events.out")) continue;
    const auto reader = EventReader::Open(JoinPath(dir, name));
    tensorflow::Event event;
    while (*(*reader)->Read(&event)) {
      const std::string step = absl::StrCat(event.step(), " ");
      for (const auto& value : event.summary().value()) events.push_back(step + value.tag());
      if (!event.has_session_log()) continue;
      const bool start = event.session_log().status() == tensorflow::SessionLog::START;
      events.push_back(step + (start ? "start" : "checkpoint"));
    }
  }
  return events;
}

TEST_F(EstimatorTest, EventsFollowTheCadencesOfTheConfiguration) {
  const std::string config = "save_summary_steps: 6 log_step_count_steps: 5 ";
  ASSERT_TRUE(Train({.config = config + "train { max_steps: 17 }"}, Line(10, true)).ok());
  const std::vector<std::string> first = {"0 checkpoint",
                                          "1 start",
                                          "0 _hparams_/session_start_info",
                                          "0 run_config",
                                          "0 variables",
                                          "5 loss",
                                          "5 learning_rate",
                                          "10 global_step/sec",
                                          "10 examples/sec",
                                          "15 loss",
                                          "15 learning_rate",
                                          "15 global_step/sec",
                                          "15 examples/sec",
                                          "17 checkpoint",
                                          "17 loss",
                                          "17 learning_rate",
                                          "17 _hparams_/session_end_info"};
  EXPECT_EQ(EventsIn(dir_.Path("m")), first);
  ASSERT_TRUE(Train({.config = config + "train { max_steps: 18 }"}, Line(10, true)).ok());
  std::vector<std::string> both = first;
  both.insert(both.end(),
              {"18 start", "17 _hparams_/session_start_info", "17 run_config", "17 variables",
               "18 checkpoint", "18 loss", "18 learning_rate", "18 _hparams_/session_end_info"});
  EXPECT_EQ(EventsIn(dir_.Path("m")), both);
  ASSERT_TRUE(Make({}).Evaluate(ToyInput(Line(8, false)), {}, "").ok());
  EXPECT_EQ(EventsIn(dir_.Path("m/eval")),
            (std::vector<std::string>{"18 loss", "18 checkpoint_path"}));
}

TEST_F(EstimatorTest, WithoutSummariesTheEventsHaveNeitherLossNorRates) {
  const std::string config = "save_summary_steps: 0 log_step_count_steps: 5 ";
  ASSERT_TRUE(Train({.config = config + "train { max_steps: 17 }"}, Line(10, true)).ok());
  EXPECT_EQ(EventsIn(dir_.Path("m")),
            (std::vector<std::string>{"0 checkpoint", "1 start", "0 _hparams_/session_start_info",
                                      "0 run_config", "0 variables", "17 checkpoint",
                                      "17 _hparams_/session_end_info"}));
}

TEST_F(EstimatorTest, ACheckpointsMetricsAreInTheEventsOnce) {
  const auto evaluate = [&](int rows) {
    ASSERT_TRUE(Make({}).Evaluate(ToyInput(Line(rows, false)), {}, "").ok());
  };
  ASSERT_TRUE(Train({.config = "train { max_steps: 3 }"}, Line(10, true)).ok());
  evaluate(8);
  const std::vector<std::string> files = Files("m/eval");
  evaluate(8);
  EXPECT_EQ(Files("m/eval"), files);
  // Of other examples.
  evaluate(4);
  EXPECT_NE(Files("m/eval"), files);
  const std::vector<std::string> once = {"3 loss", "3 checkpoint_path"};
  EXPECT_EQ(EventsIn(dir_.Path("m/eval")), once);
  ASSERT_TRUE(Train({.config = "train { max_steps: 5 }"}, Line(10, true)).ok());
  evaluate(4);
  EXPECT_EQ(EventsIn(dir_.Path("m/eval")).size(), 2 * once.size());
}

TEST_F(EstimatorTest, AFileInPlaceOfModelDirIsFoundBeforeAnyWork) {
  ASSERT_TRUE(WriteFileAtomically(dir_.Path("m"), "").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      Train({.dir = "m/n", .config = "train { max_steps: 1 }"}, Line(10, true)).status()));
}

// ---- warm start

TEST_F(EstimatorTest, WarmStartTakesWeightsButNotTheStep) {
  ASSERT_TRUE(Train({.dir = "old", .config = "train { max_steps: 300 }"}, Line(10, true)).ok());
  const std::string warm =
      absl::StrCat("warm_start_from { ckpt_to_initialize_from: '", dir_.Path("old"), "' } ");
  const auto trained =
      Train({.dir = "new", .config = warm + "train { max_steps: 1 }"}, Line(10, true));
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->global_step, 1);
  EXPECT_LT(trained->last_step->loss, 0.01);
  EXPECT_GT(
      Train({.dir = "cold", .config = "train { max_steps: 1 }"}, Line(10, true))->last_step->loss,
      0.1);
}

TEST_F(EstimatorTest, WarmStartRefusesWhatItCannotRead) {
  ASSERT_TRUE(Train({.dir = "old", .config = "train { max_steps: 1 }"}, Line(10, true)).ok());
  const auto message = [&](const std::string& settings) {
    const std::string config =
        absl::StrCat("warm_start_from { ckpt_to_initialize_from: '", dir_.Path("old"), "' ",
                     settings, " } train { max_steps: 1 }");
    const absl::Status status = Train({.dir = "new", .config = config}, Line(10, true)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_FALSE(IsDirectory(dir_.Path("new")));
    return std::string(status.message());
  };
  EXPECT_EQ(message("vars_to_warm_start: 'v'"),
            "warm_start_from: vars_to_warm_start: \"v\" matches no variable (known: w)");
  EXPECT_NE(message("var_name_to_prev_var_name { key: 'w' value: 'v' }").find("for our \"w\""),
            std::string::npos);
  EXPECT_NE(message("var_name_to_prev_var_name { key: 'q' value: 'w' }").find("\"q\" is none of"),
            std::string::npos);
}

}  // namespace
}  // namespace tpurun
