#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/estimator/estimator.h"
#include "tests/estimator/toy_estimator.h"

namespace tpurun {
namespace {

TEST_F(EstimatorTest, EvaluationIsExactForAnyBatchAndAnyNumberOfCores) {
  ASSERT_TRUE(Train({.config = "train { max_steps: 3 }"}, Line(10, true)).ok());
  std::vector<double> losses;
  for (const int batch : {2, 4, 6, 10, 100}) {
    for (const int replicas : {1, 2}) {
      const auto result =
          Make({.config = absl::StrCat("eval_batch_size: ", batch), .num_replicas = replicas})
              .Evaluate(ToyInput(Line(31, false)), {}, "");
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->examples, 31);
      EXPECT_EQ(result->global_step, 3);
      EXPECT_EQ(result->checkpoint, dir_.Path("m/model.ckpt-3"));
      losses.push_back(result->metrics[0].second.values[0]);
    }
  }
  for (const double loss : losses) EXPECT_EQ(loss, losses[0]);
}

std::string Form(const std::string& form, const std::string& evaluation = "PER_HOST_V1") {
  return absl::StrCat("tpu_config { per_host_input_for_training: ", form,
                      " eval_training_input_configuration: ", evaluation, " }");
}

// Of what every core has, one counts.
TEST_F(EstimatorTest, EvaluationIsExactInEveryForm) {
  ASSERT_TRUE(Train({.config = "train { max_steps: 3 }"}, Line(10, true)).ok());
  const auto loss = [&](const std::string& config, int batch) {
    const auto result = Make({.config = absl::StrCat("eval_batch_size: ", batch, " ", config)})
                            .Evaluate(ToyInput(Line(31, false)), {}, "");
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->examples, 31);
    return result->metrics[0].second.values[0];
  };
  const double want = loss("", 4);
  for (const std::string form : {"PER_SHARD_V1", "PER_HOST_V2", "BROADCAST"}) {
    EXPECT_EQ(loss(Form(form), 4), want) << form;
    EXPECT_EQ(loss(Form(form, "SLICED"), 6), want) << form;
  }
  for (const int batch : {1, 7, 100}) EXPECT_EQ(loss(Form("BROADCAST"), batch), want) << batch;
  EXPECT_EQ(Make({.config = "eval_batch_size: 7 " + Form("BROADCAST", "SLICED")})
                .Evaluate(ToyInput(Line(31, false)), {}, "")
                .status()
                .message(),
            "eval_batch_size must be a multiple of the 2 cores, got 7");
}

TEST_F(EstimatorTest, EvaluationWritesOnlyIntoItsOwnDirectory) {
  ASSERT_TRUE(Train({.config = "train { max_steps: 3 }"}, Line(10, true)).ok());
  std::vector<std::string> files = Files("m");
  proto::Evaluate evaluate;
  evaluate.set_name("test");
  ASSERT_TRUE(Make({}).Evaluate(ToyInput(Line(8, false)), evaluate, "").ok());
  files.push_back("eval_test");
  std::sort(files.begin(), files.end());
  EXPECT_EQ(Files("m"), files);
  EXPECT_EQ(Files("m/eval_test").size(), 1u);
}

TEST_F(EstimatorTest, WithoutACheckpointFreshVariablesAreEvaluated) {
  const auto result = Make({}).Evaluate(ToyInput(Line(8, false)), {}, "");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->checkpoint.has_value());
  EXPECT_EQ(result->global_step, 0);
  EXPECT_TRUE(absl::IsNotFound(
      Make({}).Evaluate(ToyInput(Line(8, false)), {}, dir_.Path("none")).status()));
}

TEST_F(EstimatorTest, StepsLimitAnEndlessEvaluation) {
  EXPECT_TRUE(absl::IsInvalidArgument(Make({}).Evaluate(ToyInput(Line(8, true)), {}, "").status()));
  proto::Evaluate evaluate;
  evaluate.set_steps(3);
  EXPECT_EQ(Make({}).Evaluate(ToyInput(Line(8, true)), evaluate, "")->examples, 12);
}

// ---- predict

TEST_F(EstimatorTest, PredictGivesRowsInOrderWithoutPadding) {
  std::vector<float> lines, xs;
  const absl::Status status =
      Make({}).Predict(ToyInput(Line(9, false)), {}, "", [&](const PredictedBatch& batch) {
        EXPECT_EQ(batch.columns.size(), 2u);
        EXPECT_EQ(batch.columns[0].name, "line");
        EXPECT_EQ(batch.columns[0].row.dims, std::vector<int64_t>{1});
        EXPECT_EQ(batch.columns[1].row.dims, std::vector<int64_t>{});
        for (int64_t row = 0; row < batch.rows; ++row) {
          lines.push_back(reinterpret_cast<const float*>(batch.columns[0].data)[row]);
          xs.push_back(reinterpret_cast<const float*>(batch.columns[1].data)[row]);
        }
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(xs.size(), 9u);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(xs[i], 0.1f * (i + 1));
    EXPECT_EQ(lines[i] > 0 && lines[i] < xs[i], true);  // 0 < w < 1
  }
}

TEST_F(EstimatorTest, PredictionsOfWhatEveryCoreHasComeOnce) {
  for (const int batch : {1, 3, 5, 20}) {
    std::vector<float> xs;
    const absl::Status status =
        Make({.config = absl::StrCat("predict_batch_size: ", batch, " ", Form("BROADCAST"))})
            .Predict(ToyInput(Line(9, false)), {}, "", [&](const PredictedBatch& rows) {
              for (int64_t row = 0; row < rows.rows; ++row) {
                xs.push_back(reinterpret_cast<const float*>(rows.columns[1].data)[row]);
              }
              return absl::OkStatus();
            });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(xs.size(), 9u) << batch;
    for (int i = 0; i < 9; ++i) EXPECT_EQ(xs[i], 0.1f * (i + 1));
  }
}

TEST_F(EstimatorTest, PredictKeepsOnlyTheKeysAskedFor) {
  const auto columns = [&](const std::vector<std::string>& keys) {
    std::string names;
    proto::Predict predict;
    predict.mutable_keys()->Add(keys.begin(), keys.end());
    const absl::Status status =
        Make({}).Predict(ToyInput(Line(4, false)), predict, "", [&](const PredictedBatch& batch) {
          for (const auto& column : batch.columns) names += column.name + " ";
          return absl::OkStatus();
        });
    return status.ok() ? names : std::string(status.message());
  };
  EXPECT_EQ(columns({"x"}), "x ");
  EXPECT_EQ(columns({"x", "line"}), "x line ");
  EXPECT_EQ(columns({"lime"}),
            "predict.keys: keys: the model does not predict \"lime\", did you mean \"line\"?");
}

TEST_F(EstimatorTest, PredictStopsWithTheErrorOfItsReader) {
  int calls = 0;
  const absl::Status status =
      Make({}).Predict(ToyInput(Line(400, true)), {}, "", [&](const PredictedBatch&) {
        return ++calls == 3 ? absl::PermissionDeniedError("pipe closed") : absl::OkStatus();
      });
  EXPECT_EQ(status, absl::PermissionDeniedError("pipe closed"));
  EXPECT_EQ(calls, 3);
}

TEST_F(EstimatorTest, AnEmptyInputPredictsNothing) {
  const absl::Status status = Make({}).Predict(
      ToyInput(Line(0, false)), {}, "", [](const PredictedBatch&) { return absl::OkStatus(); });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace tpurun
