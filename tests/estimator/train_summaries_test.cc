// The model's summaries in the event file of a training.
#include "runtime/estimator/train_summaries.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/estimator/estimator.h"
#include "runtime/io/event_reader.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "tests/estimator/toy.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using Kind = TrainSummary::Kind;
using Source = TrainSummary::Source;

std::vector<TrainSummary> AllSummaries(int64_t every) {
  std::vector<TrainSummary> summaries = {
      {.kind = Kind::kScalar, .source = Source::kVariable, .tag = "w", .name = "w"},
      {.kind = Kind::kScalar, .source = Source::kGradient, .tag = "gradient", .name = "w"},
      {.kind = Kind::kScalar, .source = Source::kLearningRate, .tag = "rate", .name = "toy"},
      {.kind = Kind::kScalar, .source = Source::kGlobalNorm, .tag = "norm"},
      {.kind = Kind::kHistogram, .source = Source::kVariable, .tag = "w_values", .name = "w"}};
  for (TrainSummary& summary : summaries) summary.every_n_steps = every;
  return summaries;
}

class TrainSummariesTest : public ::testing::Test {
 protected:
  void Train(const std::string& dir, const std::string& settings, int num_replicas,
             const std::vector<TrainSummary>& summaries, const std::string& of_x = "") {
    proto::RunConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "train_batch_size: 4 save_checkpoints_steps: 1 keep_checkpoint_max: 0 " + settings,
        &config));
    config.set_model_dir(dir_.Path(dir));
    ToyRows rows{.endless = true};
    for (int i = 1; i <= 10; ++i) rows.rows.push_back({0.1f * i, 0.3f * i});
    const auto model_fn = [&](const ModelFnArgs& args) -> absl::StatusOr<EstimatorSpec> {
      ASSIGN_OR_RETURN(EstimatorSpec spec, ToyModel(optimizer_, args));
      spec.summaries = summaries;
      if (!of_x.empty()) {
        spec.summaries.push_back({.kind = Kind::kHistogram, .tag = of_x, .value = Value{0}});
        spec.summaries.back().every_n_steps = summaries[0].every_n_steps;
      }
      return spec;
    };
    Estimator estimator({.config = config,
                         .model_fn = model_fn,
                         .features = {{.name = "x", .shape = {DType::kF32, {}}},
                                      {.name = "y", .shape = {DType::kF32, {}}, .is_label = true}},
                         .topology = {.num_of_replicas_per_host = num_replicas},
                         .num_workers = 2});
    const auto result = estimator.Train(ToyInput(rows));
    ASSERT_TRUE(result.ok()) << result.status();
  }

  // By step.
  std::map<int64_t, tensorflow::Summary::Value> Values(const std::string& dir,
                                                       const std::string& tag) {
    std::map<int64_t, tensorflow::Summary::Value> values;
    const auto names = ListDirectory(dir_.Path(dir));
    EXPECT_TRUE(names.ok()) << names.status();
    for (const std::string& name : *names) {
      if (!name.starts_with("events.out")) continue;
      const auto reader = EventReader::Open(dir_.Path(dir + "/" + name));
      tensorflow::Event event;
      while (*(*reader)->Read(&event)) {
        for (const auto& value : event.summary().value()) {
          if (value.tag() != tag) continue;
          EXPECT_TRUE(values.emplace(event.step(), value).second) << event.step();
        }
      }
    }
    return values;
  }
  std::vector<int64_t> Steps(const std::string& dir, const std::string& tag) {
    std::vector<int64_t> steps;
    for (const auto& [step, value] : Values(dir, tag)) steps.push_back(step);
    return steps;
  }
  float SavedW(const std::string& dir, int64_t step) {
    const auto reader = BundleReader::Open(dir_.Path(absl::StrCat(dir, "/model.ckpt-", step)));
    EXPECT_TRUE(reader.ok()) << reader.status();
    float w = NAN;
    EXPECT_TRUE((*reader)->ReadInto(*(*reader)->Find("w"), reinterpret_cast<char*>(&w)).ok());
    return w;
  }
  std::string Bytes(const std::string& dir, int64_t step) {
    return *ReadFile(BundleDataPath(dir_.Path(absl::StrCat(dir, "/model.ckpt-", step)), 0, 1));
  }

  TempDir dir_;
  proto::Optimizer optimizer_ = Sgd(0.25);
};

// tpu_estimator.md cases 144 and 146: by global_step before the update; with a host call at every
// other iteration of a loop, counted anew in each.
TEST_F(TrainSummariesTest, StepsAreThoseBeforeTheUpdate) {
  Train("every", "train { max_steps: 42 } tpu_config { iterations_per_loop: '21' }", 2,
        AllSummaries(5));
  EXPECT_EQ(Steps("every", "w"), (std::vector<int64_t>{0, 5, 10, 15, 20, 25, 30, 35, 40}));
  Train("second",
        "train { max_steps: 42 } tpu_config { iterations_per_loop: '21' "
        "experimental_host_call_every_n_steps: 2 }",
        2, AllSummaries(5));
  EXPECT_EQ(Steps("second", "w"), (std::vector<int64_t>{0, 10, 20, 25, 35}));
  EXPECT_EQ(Steps("second", "w_values"), Steps("second", "w"));
}

// w' = w - rate * gradient: what is written at a step is what leads from its checkpoint to the
// next.
TEST_F(TrainSummariesTest, ValuesAreThoseOfTheStep) {
  for (const int replicas : {1, 2}) {
    const std::string dir = absl::StrCat("m", replicas);
    Train(dir, "train { max_steps: 6 } tpu_config { iterations_per_loop: '1' }", replicas,
          AllSummaries(2));
    for (const int64_t step : {0, 2, 4}) {
      const float w = SavedW(dir, step), next = SavedW(dir, step + 1);
      EXPECT_EQ(Values(dir, "w").at(step).simple_value(), w);
      EXPECT_EQ(Values(dir, "rate").at(step).simple_value(), 0.25f);
      const float gradient = Values(dir, "gradient").at(step).simple_value();
      EXPECT_EQ(w - 0.25f * gradient, next);
      EXPECT_EQ(Values(dir, "norm").at(step).simple_value(), std::abs(gradient));
      const tensorflow::HistogramProto histogram = Values(dir, "w_values").at(step).histo();
      EXPECT_EQ(histogram.num(), 1);
      EXPECT_EQ(histogram.min(), w);
      EXPECT_EQ(histogram.sum(), w);
    }
  }
}

TEST_F(TrainSummariesTest, AHistogramCountsTheValuesOfAllCores) {
  Train("m", "train { max_steps: 2 }", 2, AllSummaries(1), "x_values");
  const tensorflow::HistogramProto first = Values("m", "x_values").at(0).histo();
  EXPECT_EQ(first.num(), 4);
  EXPECT_EQ(first.min(), 0.1f);
  EXPECT_EQ(first.max(), 0.4f);
  double in_buckets = 0;
  for (const double count : first.bucket()) in_buckets += count;
  EXPECT_EQ(in_buckets, 4);
  EXPECT_FLOAT_EQ(static_cast<float>(first.sum()), 1.0f);
}

TEST_F(TrainSummariesTest, OfWhatEveryCoreHasOneIsCounted) {
  Train("m", "train { max_steps: 2 } tpu_config { per_host_input_for_training: BROADCAST }", 2,
        AllSummaries(1), "x_values");
  const tensorflow::HistogramProto first = Values("m", "x_values").at(0).histo();
  EXPECT_EQ(first.num(), 4);
  EXPECT_FLOAT_EQ(static_cast<float>(first.sum()), 1.0f);
}

TEST_F(TrainSummariesTest, NoBitOfATrainingChanges) {
  for (const int replicas : {1, 2}) {
    const std::string settings = "train { max_steps: 12 } tpu_config { iterations_per_loop: '5' }";
    const std::string plain = absl::StrCat("plain", replicas);
    Train(plain, settings, replicas, {});
    for (const int64_t every : {1, 3, 100}) {
      const std::string dir = absl::StrCat("every", every, "_", replicas);
      Train(dir, settings, replicas, AllSummaries(every));
      EXPECT_EQ(Bytes(dir, 12), Bytes(plain, 12)) << every << " on " << replicas;
    }
  }
}

TEST_F(TrainSummariesTest, AResumedRunWritesWhatAWholeOneDoes) {
  const std::string loop = " tpu_config { iterations_per_loop: '5' }";
  Train("whole", "train { max_steps: 20 }" + loop, 2, AllSummaries(3));
  Train("parts", "train { max_steps: 10 }" + loop, 2, AllSummaries(3));
  Train("parts", "train { max_steps: 20 }" + loop, 2, AllSummaries(3));
  const auto want = Values("whole", "norm"), got = Values("parts", "norm");
  ASSERT_EQ(Steps("parts", "norm"), (std::vector<int64_t>{0, 3, 6, 9, 12, 15, 18}));
  for (const auto& [step, value] : want) {
    EXPECT_EQ(got.at(step).simple_value(), value.simple_value()) << step;
  }
}

// A run that was killed behind its checkpoint has written the summary of the checkpoint's step,
// which TensorBoard does not drop: START stands at the step after it.
TEST_F(TrainSummariesTest, AKilledRunsSummariesAreNotWrittenAgain) {
  const std::string settings = " tpu_config { iterations_per_loop: '5' }";
  Train("killed", "train { max_steps: 20 }" + settings, 2, AllSummaries(5));
  // As if it had never got to the checkpoints behind step 10.
  const std::string state = dir_.Path("killed/checkpoint");
  ASSERT_TRUE(WriteFileAtomically(state,
                                  "model_checkpoint_path: \"model.ckpt-10\"\n"
                                  "all_model_checkpoint_paths: \"model.ckpt-10\"\n")
                  .ok());
  for (const char* const name :
       {"15.index", "15.data-00000-of-00001", "20.index", "20.data-00000-of-00001"}) {
    ASSERT_TRUE(RemoveFile(dir_.Path(absl::StrCat("killed/model.ckpt-", name))).ok());
  }
  Train("killed", "train { max_steps: 15 }" + settings, 2, AllSummaries(5));
  std::map<int64_t, int> times;
  const auto names = ListDirectory(dir_.Path("killed"));
  ASSERT_TRUE(names.ok()) << names.status();
  for (const std::string& name : *names) {
    if (!name.starts_with("events.out")) continue;
    const auto reader = EventReader::Open(dir_.Path("killed/" + name));
    tensorflow::Event event;
    while (*(*reader)->Read(&event)) {
      for (const auto& value : event.summary().value())
        times[event.step()] += value.tag() == "norm";
    }
  }
  EXPECT_EQ(times.at(0), 1);
  EXPECT_EQ(times.at(10), 1);
}

// Names that would be another output's do not matter.
TEST_F(TrainSummariesTest, ATagMayBeAnything) {
  std::vector<TrainSummary> summaries = AllSummaries(1);
  summaries[0].tag = "w_values/statistics";
  Train("m", "train { max_steps: 2 }", 2, summaries);
  EXPECT_EQ(Values("m", "w_values/statistics").at(0).simple_value(), SavedW("m", 0));
  EXPECT_EQ(Values("m", "w_values").at(0).histo().num(), 1);
}

}  // namespace
}  // namespace tpurun
