#include "runtime/export/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "proto/onnx.pb.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kClassification = ExportOutput::Kind::kClassification;
constexpr auto kRegression = ExportOutput::Kind::kRegression;

// Of a model whose heads are `outputs`.
std::map<std::string, std::string> MetadataOf(const std::vector<ExportOutput>& outputs,
                                              const std::map<std::string, std::string>& metadata) {
  const absl::StatusOr<std::string> bytes =
      ToOnnx({.outputs = outputs}, "model", metadata, [](const std::string&) { return ""; });
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(*bytes));
  std::map<std::string, std::string> props;
  for (const auto& entry : model.metadata_props()) props[entry.key()] = entry.value();
  return props;
}

TEST(OnnxTest, AHeadThatClassifiesGivesItsClasses) {
  EXPECT_THAT(MetadataOf({{kClassification, {}, {3}}, {kRegression, {}, {1}}}, {{"model", "iris"}}),
              ElementsAre(Pair("classes", R"(["0","1","2"])"), Pair("model", "iris")));
}

TEST(OnnxTest, SeveralThatClassifyGiveThemByTheirSignatures) {
  EXPECT_THAT(MetadataOf({{kClassification, {}, {2}}, {kClassification, {}, {3}}}, {}),
              ElementsAre(Pair("classification/classes", R"(["0","1"])"),
                          Pair("classification_1/classes", R"(["0","1","2"])")));
}

TEST(OnnxTest, OneThatDoesNotClassifyGivesNone) {
  EXPECT_THAT(MetadataOf({{kRegression, {}, {}}}, {}), IsEmpty());
}

}  // namespace
}  // namespace tpurun
