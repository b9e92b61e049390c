#include "proto/config_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

using testing::ElementsAre;

SourceLocations Locations() {
  SourceLocations locations;
  locations.Record("", {.file = "run.textproto"});
  locations.Record("train", {.file = "run.textproto", .line = 3, .column = 1});
  locations.Record("train.steps", {.file = "run.textproto", .line = 10, .column = 5});
  locations.Record("model", {.file = "model.textproto"});
  locations.Record("model.layer[0]", {.file = "model.textproto", .line = 2, .column = 1});
  locations.Record("use_tpu", {.flag = "--set use_tpu=true"});
  return locations;
}

TEST(ConfigErrorsTest, AreInTheOrderOfTheFilesTheCommandLineLast) {
  ConfigErrors errors;
  errors.Add("use_tpu", "e");
  errors.AddAt({.flag = "--name"}, "f");
  errors.Add("train.steps", "d");
  errors.Add("train.input", "c");  // not there: at train
  errors.Add({"layer 0", "model.layer[0]"}, "dense.units", "a");
  errors.AddAt({.file = "run.textproto", .line = 1, .column = 2}, "b");
  EXPECT_THAT(
      errors.Lines(Locations()),
      ElementsAre("model.textproto:2:1: layer 0: a", "run.textproto:1:2: b", "run.textproto:3:1: c",
                  "run.textproto:10:5: d", "--set use_tpu=true: e", "--name: f"));
}

TEST(ConfigErrorsTest, WithoutPlacesThePathIsShown) {
  ConfigErrors errors;
  errors.Add("b", "1");
  errors.Add("", "2");
  EXPECT_THAT(errors.Lines(SourceLocations()), ElementsAre("b: 1", "2"));
}

TEST(ConfigErrorsTest, TheSameIsSaidOnce) {
  ConfigErrors errors;
  errors.Add("a", "x");
  errors.Add("a", "x");
  errors.Add("a", "y");
  EXPECT_EQ(errors.all().size(), 2);
  EXPECT_EQ(errors.reported(), 3);
  // Two elements, one place and one message.
  errors.Add("a.b", "y");
  EXPECT_EQ(errors.Lines(Locations()).size(), 2);
}

TEST(ConfigErrorsTest, APartStandsAtItsPlace) {
  ConfigErrors part;
  part.Add("buffer_size", "must be > 0");
  part.AddAt({.flag = "--x"}, "m");
  ConfigErrors errors;
  errors.Add(ConfigPlace{"shuffle", "train.input.transform[0].shuffle"}, part);
  EXPECT_THAT(errors.all(), ElementsAre(ConfigError{"train.input.transform[0].shuffle.buffer_size",
                                                    "shuffle: must be > 0"},
                                        ConfigError{"train.input.transform[0].shuffle",
                                                    "shuffle: m", SourceLocation{.flag = "--x"}}));
}

TEST(ConfigErrorsTest, WhatFollowsFromAMistakeIsIgnored) {
  ConfigErrors errors;
  errors.AddAt({.file = "f", .line = 1, .column = 1}, "layer[1].dens: unknown");
  errors.Ignore("layer[1]", /*below=*/false);
  errors.Ignore("layer[1].dense", /*below=*/true);
  errors.Add("layer[1]", "no kind");
  errors.Add("layer[1].dense", "units is missing");
  errors.Add("layer[1].dense.units", "must be > 0");
  EXPECT_EQ(errors.all().size(), 1);
  errors.Add("layer[1].input[0]", "unknown");
  errors.Add("layer[1].densely", "unknown");
  errors.Add("layer[10]", "no kind");
  EXPECT_EQ(errors.all().size(), 4);
}

TEST(ConfigErrorsTest, TheFirstHundredAreKept) {
  ConfigErrors errors;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(errors.full());
    errors.Add("a", absl::StrCat(i));
  }
  EXPECT_TRUE(errors.full());
  errors.Add("a", "one more");
  const std::vector<std::string> lines = errors.Lines(SourceLocations());
  ASSERT_EQ(lines.size(), 101);
  EXPECT_EQ(lines[99], "a: 99");
  EXPECT_EQ(lines[100], "the first 100 mistakes are shown; there are more");
}

TEST(ConfigErrorsTest, AreUnimplementedWhereAllAreRefused) {
  ConfigErrors errors;
  EXPECT_EQ(errors.code(), absl::StatusCode::kInvalidArgument);
  errors.RejectOnTpu({"layer 0", "train"}, "steps", "no such op");
  EXPECT_EQ(errors.code(), absl::StatusCode::kUnimplemented);
  ConfigErrors whole;
  whole.Add(ConfigPlace(), errors);
  EXPECT_THAT(whole.Lines(Locations()), ElementsAre("run.textproto:10:5: layer 0: no such op"));
  EXPECT_EQ(whole.code(), absl::StatusCode::kUnimplemented);
  whole.Add("train", "odd");
  EXPECT_EQ(whole.code(), absl::StatusCode::kInvalidArgument);
}

TEST(ConfigErrorsTest, WarningsAreNoMistakes) {
  ConfigErrors errors;
  errors.Warn({"head 0", "train"}, "steps", "is odd");
  EXPECT_TRUE(errors.empty());
  errors.Warn({"head 0", "train"}, "steps", "is odd");
  ConfigErrors whole;
  whole.Add(ConfigPlace(), errors);
  EXPECT_THAT(whole.Warnings(Locations()), ElementsAre("run.textproto:10:5: head 0: is odd"));
}

}  // namespace
}  // namespace tpurun
