#include "runtime/base/metric_mode.h"

#include <gtest/gtest.h>

#include <optional>

namespace tpurun {
namespace {

TEST(MetricModeTest, NamesOfMetricsTellWhatIsBetter) {
  for (const char* tag : {"accuracy", "top_5_accuracy", "AUC", "eval/mean_iou", "precision_at_1",
                          "examples/sec", "val F1", "cosine_similarity", "matthews_correlation",
                          "eval/mcc", "cohen_kappa", "matthews"}) {
    EXPECT_EQ(ModeOfTag(tag), MetricMode::kMax) << tag;
  }
  for (const char* tag :
       {"loss", "eval/loss_shard_0", "root_mean_squared_error", "perplexity", "top_5_error",
        "val-mae", "binary_crossentropy", "bits_per_character", "cosine_similarity_loss", "bpc"}) {
    EXPECT_EQ(ModeOfTag(tag), MetricMode::kMin) << tag;
  }
  for (const char* tag : {"learning_rate", "mean", "lossy", "", "confusion_matrix"}) {
    EXPECT_EQ(ModeOfTag(tag), std::nullopt) << tag;
  }
}

TEST(MetricModeTest, ModesHaveTheNamesOfTheConfiguration) {
  for (const MetricMode mode : {MetricMode::kMin, MetricMode::kMax}) {
    EXPECT_EQ(ParseMode(ModeText(mode)), mode);
  }
  EXPECT_EQ(ParseMode("max"), MetricMode::kMax);
  EXPECT_EQ(ParseMode("AUTO"), std::nullopt);
}

}  // namespace
}  // namespace tpurun
