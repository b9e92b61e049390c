#include "runtime/checkpoint/drift.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

proto::RunConfig Parse(const std::string& text) {
  proto::RunConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// The lines of what differs, each ended.
std::string DriftOf(const std::string& trained, const std::string& now,
                    ModeKey mode = ModeKey::kTrain, const std::string& evaluation = "") {
  std::string lines;
  for (const std::string& line :
       Drift(CanonicalText(Parse(trained)), Parse(now), mode, evaluation)) {
    absl::StrAppend(&lines, line, "\n");
  }
  return lines;
}

TEST(DriftTest, AFieldThatDiffersIsOneLine) {
  constexpr char kTrained[] = R"(
use_tpu: true
model {
  feature { name: "x" shape: 2 }
  layer { name: "hidden" input: "x" dense { units: 4 activation: RELU } }
  layer { name: "logits" input: "hidden" dense { units: 3 } }
  head { classification { logits: "logits" label: "y" label_smoothing: 0.25 } }
})";
  constexpr char kNow[] = R"(
use_tpu: false
model {
  feature { name: "x" shape: [2, 3] }
  layer { name: "hidden" input: "x" dense { units: 4 activation: TANH } }
  layer { name: "logits" input: "x" dense { units: 3 activation: RELU } }
  head { classification { logits: "logits" label: "z" } }
  matmul_precision: HIGH
})";
  EXPECT_EQ(DriftOf(kTrained, kNow),
            "use_tpu: trained with true, now false\n"
            "feature \"x\".shape: trained with 2, now [2, 3]\n"
            "layer \"hidden\".dense.activation: trained with RELU, now TANH\n"
            "layer \"logits\".input: trained with \"hidden\", now \"x\"\n"
            "layer \"logits\".dense.activation: trained with LINEAR, now RELU\n"
            "head classification.label: trained with \"y\", now \"z\"\n"
            "head classification.label_smoothing: trained with 0.25, now 0\n"
            "matmul_precision: trained with DEFAULT, now HIGH\n");
  EXPECT_EQ(DriftOf(kTrained, kTrained), "");
}

TEST(DriftTest, TextsOfAnyLanguageAreReadable) {
  constexpr char kModel[] = R"(
model {
  layer { name: "logits" dense { units: 3 } }
  head { classification { logits: "logits" label: "y" label_vocabulary: [$0] } }
}
train { input { source { text_line { file: "x" } } transform { lookup { feature: "größe" vocabulary_file: $1 } } } })";
  EXPECT_EQ(DriftOf(absl::Substitute(kModel, R"("日本", "süß")", R"("klein")"),
                    absl::Substitute(kModel, R"("süß", "a\001\n\"", "\374")", R"("groß")")),
            "head classification.label_vocabulary: trained with [\"日本\", \"süß\"], now "
            "[\"süß\", \"a\\001\\n\\\"\", \"\\374\"]\n"
            "transform lookup \"größe\".vocabulary_file: trained with \"klein\", now \"groß\"\n");
  constexpr char kWithout[] = "model { layer { name: \"logits\" dense { units: 3 } } }";
  EXPECT_EQ(DriftOf(kWithout, absl::Substitute(kModel, R"("日本")", R"("klein")")),
            "head classification: trained with none, now { logits: \"logits\" label: \"y\" "
            "label_vocabulary: \"日本\" }\n");
}

TEST(DriftTest, WhatIsMoreOrLessIsNamed) {
  constexpr char kTrained[] = R"(model {
  layer { name: "a" activation { function: TANH } }
  layer { name: "b" flatten {} }
  head { regression { logits: "b" } }
  loss { name: "l" mean_squared_error { labels: "y" } }
})";
  constexpr char kNow[] = R"(model {
  layer { name: "b" dropout {} }
  layer { name: "c" flatten {} }
  head { regression { logits: "b" } }
  head { regression { logits: "c" } }
})";
  EXPECT_EQ(DriftOf(kTrained, kNow),
            "layer \"a\": trained with activation, now none\n"
            "layer \"b\": trained with flatten, now dropout\n"
            "layer \"c\": trained with none, now flatten\n"
            "head regression (2): trained with none, now { logits: \"c\" }\n"
            "loss \"l\": trained with mean_squared_error, now none\n");
}

TEST(DriftTest, AveragesAreThereOrNot) {
  EXPECT_EQ(DriftOf("model { moving_average {} }", "model {}", ModeKey::kEval),
            "moving_average: trained with averages, now none\n");
  EXPECT_EQ(DriftOf("model {}", "model { moving_average {} }", ModeKey::kPredict),
            "moving_average: trained with none, now averages\n");
  EXPECT_EQ(DriftOf("model { moving_average {} }", "model { moving_average {} }"), "");
}

TEST(DriftTest, ADefaultThatIsWrittenIsNone) {
  constexpr char kShort[] = "model { layer { name: 'a' dense { units: 4 } } }";
  constexpr char kLong[] =
      "use_tpu: true model { layer { name: 'a' dense { units: 4 activation: LINEAR use_bias: true "
      "} "
      "} matmul_precision: DEFAULT compute_dtype: FLOAT32 }";
  EXPECT_EQ(DriftOf(kShort, kLong), "");
  EXPECT_EQ(DriftOf(kLong, kShort), "");
  EXPECT_EQ(CanonicalText(Parse(kLong)), CanonicalText(Parse(kShort)));
  EXPECT_EQ(CanonicalText(Parse(kShort)), "model { layer { name: \"a\" dense { units: 4 } } } ");
}

TEST(DriftTest, TheOrderOfLayersIsThatOfTheirNames) {
  EXPECT_EQ(DriftOf("model { layer { name: 'a' add {} } layer { name: 'b' flatten {} } }",
                    "model { layer { name: 'b' flatten {} } layer { name: 'a' add {} } }"),
            "");
}

std::string Train(const std::string& transforms, const std::string& source = "tfrecord {}") {
  return absl::StrCat("train { input { source { ", source, " } ", transforms, " } } ");
}
std::string Evaluate(const std::string& transforms, const std::string& name = "") {
  return absl::StrCat("evaluate { name: '", name, "' input { source { tfrecord {} } ", transforms,
                      " } } ");
}
std::string Predict(const std::string& transforms, const std::string& source = "tfrecord {}") {
  return absl::StrCat("predict { input { source { ", source, " } ", transforms, " } } ");
}
std::string Cast(double scale, const std::string& feature = "image") {
  return absl::StrCat("transform { cast { feature: '", feature, "' scale: ", scale, " } } ");
}
constexpr char kScale[] = "transform cast \"image\".scale: trained with 0.5, now 1\n";

TEST(DriftTest, TransformsAreComparedByKindAndFeature) {
  EXPECT_EQ(DriftOf(Train(Cast(0.5) + Cast(2, "label")), Train(Cast(1) + Cast(2, "label"))),
            kScale);
  EXPECT_EQ(DriftOf(Train(Cast(0.5)), Train("")),
            "transform cast \"image\": trained with { feature: \"image\" scale: 0.5 }, now none\n");
  EXPECT_EQ(DriftOf(Train(Cast(0.5) + Cast(3)), Train(Cast(0.5) + Cast(4))),
            "transform cast \"image\" (2).scale: trained with 3, now 4\n");
  EXPECT_EQ(DriftOf(Train(Cast(2, "a") + Cast(2, "b")), Train(Cast(2, "b") + Cast(2, "a"))),
            "the order of transform: trained with cast \"a\", cast \"b\", now cast \"b\", cast "
            "\"a\"\n");
  EXPECT_EQ(
      DriftOf(Train("transform { decode_csv { column { name: 'a' } column { name: 'b' } } }"),
              Train("transform { decode_csv { column { name: 'b' } column { name: 'a' } } }")),
      "the order of transform decode_csv.column: trained with \"a\", \"b\", now \"b\", \"a\"\n");
}

TEST(DriftTest, AForgottenScaleShowsInEveryModeOnce) {
  const std::string trained = Train(Cast(0.5)) + Evaluate(Cast(0.5)) + Predict(Cast(0.5));
  const std::string now = Train(Cast(1)) + Evaluate(Cast(1)) + Predict(Cast(1));
  for (const ModeKey mode : {ModeKey::kTrain, ModeKey::kEval, ModeKey::kPredict}) {
    EXPECT_EQ(DriftOf(trained, now, mode), kScale);
    EXPECT_EQ(DriftOf(trained, trained, mode), "");
  }
  // It was given to training alone.
  EXPECT_EQ(DriftOf(Train(Cast(0.5)) + Evaluate(Cast(1)), Train(Cast(1)) + Evaluate(Cast(1)),
                    ModeKey::kEval),
            kScale);
  // What predicts has no other part.
  EXPECT_EQ(DriftOf(trained, Predict(Cast(1)), ModeKey::kPredict), kScale);
}

TEST(DriftTest, AnInputThatIsAsThatOfTrainingWasIsGood) {
  EXPECT_EQ(DriftOf(Train(Cast(0.5)) + Evaluate(Cast(1)), Train(Cast(1)) + Evaluate(Cast(0.5)),
                    ModeKey::kEval),
            "");
  // Or as the same one was then: training may have had other transforms for a reason.
  EXPECT_EQ(DriftOf(Train(Cast(0.5)) + Evaluate(Cast(2)), Train(Cast(0.5)) + Evaluate(Cast(2)),
                    ModeKey::kEval),
            "");
}

TEST(DriftTest, EvaluationsAreToldApartByName) {
  const std::string trained = Train(Cast(2)) + Evaluate(Cast(3), "a") + Evaluate(Cast(0.5), "b");
  const std::string now = Train(Cast(2)) + Evaluate(Cast(3), "a") + Evaluate(Cast(1), "b");
  EXPECT_EQ(DriftOf(trained, now, ModeKey::kEval, "a"), "");
  EXPECT_EQ(DriftOf(trained, now, ModeKey::kEval, "b"), kScale);
  EXPECT_EQ(DriftOf(trained, now + Evaluate(Cast(4), "c"), ModeKey::kEval, "c"), "");
}

TEST(DriftTest, AnotherKindOfSourceHasItsOwnTransforms) {
  EXPECT_EQ(DriftOf(Train(Cast(0.5)) + Predict(Cast(0.5)),
                    Train(Cast(0.5)) + Predict("", "from_tensor_slices {}"), ModeKey::kPredict),
            "");
}

TEST(DriftTest, OldCheckpointsAndThoseOfLaterVersionsAreNotCompared) {
  const proto::RunConfig now = Parse("use_tpu: false");
  EXPECT_TRUE(Drift("", now, ModeKey::kTrain, "").empty());
  EXPECT_TRUE(Drift("model {", now, ModeKey::kTrain, "").empty());
  EXPECT_TRUE(Drift("model { matmul_precision: FASTER }", now, ModeKey::kTrain, "").empty());
  EXPECT_EQ(Drift("use_tpu: true later_field: 3", now, ModeKey::kTrain, "").size(), 1u);
}

TEST(DriftTest, GroupsOfReplicasAreToldForTrainingAlone) {
  constexpr char kGroups[] =
      "model { optimizer { name: 'a' cross_shard { group_assignment { replica: [0, 1] } "
      "group_assignment { replica: [2, 3] } } } }";
  EXPECT_EQ(DriftOf(kGroups, ""),
            "optimizer \"a\".cross_shard.group_assignment: trained with { replica: 0 replica: 1 }, "
            "{ replica: 2 replica: 3 }, now none\n");
  constexpr char kUnnamed[] =
      "model { optimizer { cross_shard { group_assignment { replica: [0, 1] } } } }";
  constexpr char kOther[] =
      "model { optimizer { cross_shard { group_assignment { replica: 0 } "
      "group_assignment { replica: 1 } } } }";
  EXPECT_EQ(DriftOf(kUnnamed, kOther),
            "optimizer.cross_shard.group_assignment: trained with { replica: 0 replica: 1 }, now "
            "{ replica: 0 }, { replica: 1 }\n");
  EXPECT_EQ(DriftOf(kUnnamed, kOther, ModeKey::kEval), "");
}

}  // namespace
}  // namespace tpurun
