// How many layers a model may have, however it is written, and how many mistakes are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/models/iris_spec.h"

namespace tpurun {
namespace {

// `layers` layers in each way of writing them; the first is wrong.
std::vector<std::string> WaysToWrite(int layers) {
  const std::string wrong = "layer { dense { units: -5 } } ", one = "layer { flatten {} } ";
  const auto copies = [&](int count, const std::string& layer) {
    std::string text;
    for (int i = 0; i < count; ++i) text += layer;
    return text;
  };
  const auto repeated = [&](int count, const std::string& what) {
    return absl::StrCat("layer { sequence { repeat: ", count, " ", what, "} } ");
  };
  const std::string rest = copies(layers - 1, one);
  return {
      wrong + rest,
      repeated(1, wrong + rest),
      wrong + repeated(layers - 1, one),
      wrong + repeated(1, repeated(1, repeated(layers - 1, one))),
      wrong + repeated((layers - 1) / 100, repeated(10, copies(10, one))) +
          copies((layers - 1) % 100, one),
      absl::StrCat("layer { residual { ", wrong, rest, "} } "),
      absl::StrCat("layer { residual { ", wrong, "shortcut { ", rest, "} } } "),
      absl::StrCat(wrong, "layer { residual { ", one, "shortcut { ", repeated(layers - 2, one),
                   "} } } "),
  };
}

// A mistake that only building finds tells whether anything was built.
TEST(LayerCount, TooManyLayersAreRefusedBeforeAnyIsBuiltHoweverTheyAreWritten) {
  const std::string feature = "feature { name: \"x\" shape: 3 }\n";
  for (const std::string& way : WaysToWrite(10001)) {
    const std::string error = ErrorsOf(feature + way);
    EXPECT_THAT(error, testing::HasSubstr(": with it the model has more than 10000 layers: got "
                                          "10001 with all copies, want at most 10000"))
        << way.substr(0, 100);
    EXPECT_THAT(error, testing::Not(testing::HasSubstr("units"))) << way.substr(0, 100);
  }
  for (const std::string& way : WaysToWrite(10000)) {
    EXPECT_THAT(ErrorsOf(feature + way), testing::HasSubstr("units must be > 0, got -5"))
        << way.substr(0, 100);
  }
}

TEST(LayerCount, TenThousandLayersAreBuilt) {
  EXPECT_EQ(ErrorsOf("feature { name: \"x\" shape: 3 }\n"
                     "layer { sequence { repeat: 10000 layer { flatten {} } } }"),
            "");
}

TEST(LayerCount, MistakesWithoutEndAreCutShort) {
  std::string text = "feature { name: \"x\" shape: 3 }\n";
  for (int i = 0; i < 9000; ++i)
    absl::StrAppend(&text, "layer { name: \"", i, "\" flatten {} input: \"unknown\" }\n");
  const std::string error = ErrorsOf(text);
  EXPECT_THAT(error, testing::StartsWith(
                         "model.textproto:2:30: layer 0 \"0\": input \"unknown\" is no feature"));
  EXPECT_THAT(error, testing::HasSubstr(": layer 99 \"99\": "));
  EXPECT_THAT(error, testing::Not(testing::HasSubstr("layer 100 ")));
  EXPECT_THAT(error, testing::EndsWith("\nthe first 100 mistakes are shown; there are more"));
}

}  // namespace
}  // namespace tpurun
