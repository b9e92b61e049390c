#include "proto/source_locations.h"

#include <gtest/gtest.h>

#include <string>

#include "google/protobuf/text_format.h"
#include "proto/model_spec.pb.h"
#include "tests/scaling.h"

namespace tpurun {
namespace {

using google::protobuf::TextFormat;

// Locations of `text` parsed as a ModelSpec from "m.textproto".
SourceLocations Parsed(const std::string& text) {
  proto::ModelSpec model;
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.WriteLocationsTo(&tree);
  EXPECT_TRUE(parser.ParseFromString(text, &model));
  SourceLocations locations;
  locations.Record("", {.file = "run.textproto"});
  locations.Record("model", {.file = "m.textproto"});
  locations.RecordParsed("model", model, tree, "m.textproto", text);
  return locations;
}

TEST(SourceLocationsTest, PlacesCountFromOne) {
  const SourceLocations locations =
      Parsed("name: \"m\"\nlayer { name: \"a\"\n  dense { units: 3 } }\nlayer { flatten {} }\n");
  EXPECT_EQ(locations.Where("model.name"), "m.textproto:1:1");
  EXPECT_EQ(locations.Where("model.layer[0].name"), "m.textproto:2:9");
  EXPECT_EQ(locations.Where("model.layer[0].dense.units"), "m.textproto:3:11");
  EXPECT_EQ(locations.Where("model.layer[1].flatten"), "m.textproto:4:9");
}

TEST(SourceLocationsTest, UnknownPathsFallBackToTheNearestEnclosingOne) {
  const SourceLocations locations = Parsed("\nlayer { dense { units: 3 } }\n");
  EXPECT_EQ(locations.Where("model.layer[0].dense.use_bias"), "m.textproto:2:9");
  EXPECT_EQ(locations.Where("model.layer[0].name"), "m.textproto:2:1");
  EXPECT_EQ(locations.Where("model.optimizer[0]"), "m.textproto");
  EXPECT_EQ(locations.Where("train.input"), "run.textproto");
  EXPECT_EQ(SourceLocations().Where("train.input"), "train.input");
}

TEST(SourceLocationsTest, ElementsOfAShortListShareItsPlace) {
  const SourceLocations locations =
      Parsed("feature { name: \"x\" shape: [28, 28, 1] }\nfrozen: \"a\"\nfrozen: \"b\"\n");
  EXPECT_EQ(locations.Where("model.feature[0].shape[2]"), "m.textproto:1:21");
  EXPECT_EQ(locations.Where("model.frozen[0]"), "m.textproto:2:1");
  EXPECT_EQ(locations.Where("model.frozen[1]"), "m.textproto:3:1");
}

TEST(SourceLocationsTest, ATabIsOneColumn) {
  const SourceLocations locations = Parsed("layer {\n\t\tdense {\tunits: 3 } }\n");
  EXPECT_EQ(locations.Where("model.layer[0].dense"), "m.textproto:2:3");
  EXPECT_EQ(locations.Where("model.layer[0].dense.units"), "m.textproto:2:11");
}

TEST(SourceLocationsTest, AColumnWithinATabIsTheOneBehindIt) {
  const TokenizerText text("a\tb\tc\n\td");
  EXPECT_EQ(text.ByteColumn(0, 0), 1);
  EXPECT_EQ(text.ByteColumn(0, 1), 2);
  EXPECT_EQ(text.ByteColumn(0, 5), 3);
  EXPECT_EQ(text.ByteColumn(0, 8), 3);
  EXPECT_EQ(text.ByteColumn(0, 9), 4);
  EXPECT_EQ(text.ByteColumn(0, 16), 5);
  EXPECT_EQ(text.ByteColumn(1, 8), 2);
  EXPECT_EQ(text.ByteColumn(1, 9), 3);
}

// Whether the text is one line or as many as layers.
TEST(SourceLocationsTest, TheTimeGrowsWithTheText) {
  for (const char* end : {"\n", " ", "\t"}) {
    ExpectNearLinear(2000, [&](int layers) {
      std::string text;
      for (int i = 0; i < layers; ++i) text.append("layer { flatten {} }").append(end);
      EXPECT_NE(Parsed(text).Find("model.layer[1999].flatten"), nullptr);
    });
  }
}

TEST(SourceLocationsTest, AFlagIsAPlace) {
  SourceLocations locations = Parsed("name: \"m\"\n");
  locations.Record("model.name", {.flag = "--set model.name=x"});
  EXPECT_EQ(locations.Where("model.name"), "--set model.name=x");
}

TEST(SourceLocationsTest, EraseForgetsWhatIsUnderThePathOnly) {
  SourceLocations locations;
  for (const char* path : {"a", "a.b", "a.b[0].c", "a.bc", "ab"}) {
    locations.Record(path, {.file = path});
  }
  locations.Erase("a.b");
  EXPECT_EQ(locations.Find("a.b"), nullptr);
  EXPECT_EQ(locations.Find("a.b[0].c"), nullptr);
  EXPECT_NE(locations.Find("a.bc"), nullptr);
  EXPECT_NE(locations.Find("ab"), nullptr);
  EXPECT_EQ(locations.Where("a.b[0]"), "a");
}

TEST(SourceLocationsTest, RemovingAnElementMovesTheLaterOnesDown) {
  SourceLocations locations;
  for (int i = 0; i < 12; ++i) {
    const std::string path = ElementPath("t", i);
    locations.Record(path, {.file = "f", .line = i + 1, .column = 1});
    locations.Record(path + ".x", {.file = "f", .line = i + 1, .column = 5});
  }
  locations.RemoveElement("t", 1);
  EXPECT_EQ(locations.Where("t[0].x"), "f:1:5");
  EXPECT_EQ(locations.Where("t[1].x"), "f:3:5");
  EXPECT_EQ(locations.Where("t[10]"), "f:12:1");
  EXPECT_EQ(locations.Find("t[11]"), nullptr);
}

}  // namespace
}  // namespace tpurun
