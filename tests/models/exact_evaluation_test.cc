// An evaluation gives the same doubles whatever the batch and the number of workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "models/model_builder.h"
#include "runtime/base/random.h"
#include "runtime/estimator/estimator.h"
#include "tests/io/temp_dir.h"
#include "tests/models/golden_case.h"

namespace tpurun {
namespace {

constexpr int64_t kExamples = 1500;
constexpr int64_t kPixels = 8 * 8;

// A convolutional net whose metrics take every path from values to sums: a value for each row or
// each pixel, weighted or not, an array, decisions at thresholds, groups of rows.
constexpr char kModel[] = R"(
feature { name: "image" shape: [8, 8, 1] }
label { name: "label" dtype: INT32 }
label { name: "weight" }
layer { conv2d { filters: 5 kernel_size: 3 padding: SAME activation: RELU } }
layer { max_pooling2d {} }
layer { flatten {} }
layer { dense { units: 33 activation: TANH } }
layer { dropout {} }
layer { name: "logits" dense { units: 10 } }
layer { name: "probabilities_of_3" slice { begin: 3 size: 1 } }
head { classification { logits: "logits" label: "label" weights: "weight" } }
eval_metric { name: "pixels" mean { values: "image" weights: "weight" } }
eval_metric { name: "probability" mean { values: "logits" } }
eval_metric { name: "confusion" confusion_matrix { labels: "label" predictions: "logits" weights: "weight" } }
eval_metric { name: "recalls" recall { labels: "label" predictions: "probabilities" class_id: 3 thresholds: [0.05, 0.1] weights: "weight" } }
eval_metric { name: "r2" r2_score { labels: "weight" predictions: "probabilities_of_3" } }
eval_metric { name: "groups" by: "label" num_groups: 10 mean { values: "logits" weights: "weight" } }
)";

// Random images and labels.
class RandomImages : public BatchSource {
 public:
  explicit RandomImages(int64_t batch) : batch_(batch) {}

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    const int64_t rows = std::min(batch_, kExamples - next_);
    for (int64_t row = 0; row < rows; ++row, ++next_) {
      for (int64_t i = 0; i < kPixels; ++i) {
        reinterpret_cast<float*>(buffers[0])[row * kPixels + i] = Draw(i);
      }
      reinterpret_cast<int32_t*>(buffers[1])[row] = static_cast<int32_t>(10 * Draw(kPixels));
      reinterpret_cast<float*>(buffers[2])[row] = std::max(0.0f, Draw(kPixels + 1) - 0.25f);
    }
    return rows;
  }
  std::string Position() const override { return absl::StrCat(next_); }
  absl::Status Restore(const std::string&) override {
    return absl::UnimplementedError("an evaluation never goes back");
  }
  std::string Where(int64_t row) const override { return absl::StrCat("image ", row); }

 private:
  float Draw(int64_t i) const {
    return UniformFloat(PhiloxElement(1, 0, static_cast<uint32_t>(next_), 0, i));
  }

  const int64_t batch_;
  int64_t next_ = 0;
};

absl::StatusOr<InputSource> OpenRandomImages(const InputFnArgs& args) {
  return InputSource{.batches = std::make_unique<RandomImages>(args.batch_size),
                     .features = args.features,
                     .examples_per_epoch = kExamples};
}

// At bf16, as on a TPU, and at f32.
class ExactEvaluationTest : public testing::TestWithParam<bool> {};

TEST_P(ExactEvaluationTest, NeitherTheBatchNorTheWorkersChangeABit) {
  const TempDir dir;
  proto::ModelSpec model;
  SourceLocations locations;
  ParseProto(kModel, "model", &model, &locations);
  const absl::StatusOr<ModelFn> model_fn = CheckedModelFn(model, locations);
  ASSERT_TRUE(model_fn.ok()) << model_fn.status();
  std::vector<std::pair<std::string, MetricValue>> first;
  for (const int64_t batch : {96, 1000, 1024, 8}) {
    for (const int workers : {1, 2, 4, 8}) {
      if (batch != 96 && workers > 2) continue;
      EstimatorOptions options{.model_fn = *model_fn,
                               .features = ModelFeatures(model),
                               .topology = kDevice,
                               .num_workers = workers,
                               .allow_untrained = true};
      options.config.set_model_dir(dir.Path("m"));
      options.config.set_eval_batch_size(batch);
      options.config.set_use_tpu(GetParam());
      const absl::StatusOr<Evaluation> result =
          Estimator(options).Evaluate(OpenRandomImages, {}, "");
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->examples, kExamples);
      if (first.empty()) first = result->metrics;
      EXPECT_EQ(result->metrics, first) << "batch " << batch << ", " << workers << " workers";
    }
  }
  const std::map<std::string, MetricValue> named(first.begin(), first.end());
  ASSERT_EQ(named.size(), 9u);
  EXPECT_GT(named.at("loss").values[0], 0.5);
  EXPECT_NEAR(named.at("pixels").values[0], 0.5, 0.01);
  // Weights uniform in [-0.25, 0.75), negative ones 0: 0.28125 a row.
  const MetricValue& confusion = named.at("confusion");
  EXPECT_EQ(confusion.dims, (std::vector<int64_t>{10, 10}));
  EXPECT_NEAR(std::accumulate(confusion.values.begin(), confusion.values.end(), 0.0),
              0.28125 * kExamples, 20);
  EXPECT_EQ(named.at("recalls").dims, (std::vector<int64_t>{2}));
  EXPECT_EQ(named.at("groups").dims, (std::vector<int64_t>{10}));
}

INSTANTIATE_TEST_SUITE_P(Precisions, ExactEvaluationTest, testing::Bool());

}  // namespace
}  // namespace tpurun
