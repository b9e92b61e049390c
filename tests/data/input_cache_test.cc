// What a cache holds of the rows in front of it, and that its input gives the rows that it gives
// without one.
#include "data/input_cache.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/config_errors.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

std::string ColumnsText(const Schema& schema) {
  return absl::StrJoin(schema, ", ", [](std::string* text, const ColumnType& type) {
    absl::StrAppend(text, type.name, " ", type.ToString());
  });
}

std::string MadeText(const std::vector<RowTransform>& transforms,
                     const std::vector<size_t>& stages) {
  std::vector<std::string> made;
  for (size_t i = 0; i < transforms.size(); ++i) {
    made.push_back(absl::StrCat(stages[i], " of ", ColumnsText(transforms[i].output)));
  }
  return absl::StrJoin(made, "; ");
}

// The columns that a cache holds behind the transforms, if `needed` of their columns are needed,
// and the numbers and columns of the transforms in front of it and behind it.
std::string Held(const Schema& source, const std::vector<std::string>& transforms,
                 const std::vector<std::string>& needed) {
  RowMapArgs map;
  Schema schema = source;
  for (const std::string& text : transforms) {
    proto::Transform transform;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &transform)) << text;
    ConfigErrors errors;
    auto row = FindTransform(transform.kind_case())->bind(transform, schema, errors);
    EXPECT_TRUE(row.has_value()) << text;
    if (!row.has_value()) return text;
    schema = row->output;
    map.stages.push_back(map.transforms.size());
    map.transforms.push_back(*std::move(row));
  }
  Schema held;
  for (const std::string& name : needed) held.push_back(schema[FindColumn(schema, name)]);
  const MovedTransforms behind = TakeConversions(source, &map, &held);
  return absl::StrCat(MadeText(map.transforms, map.stages), " | ", ColumnsText(held), " | ",
                      MadeText(behind.transforms, behind.stages));
}

constexpr char kCastImage[] = "cast { feature: 'image' dtype: FLOAT32 scale: 0.5 }";

Schema ImageAndLabel(std::vector<int64_t> dims = {10, 10, 1}) {
  return {{"image", proto::UINT8, std::move(dims)}, {"label", proto::INT64, {}}};
}

TEST(InputCacheTest, AConversionThatMakesRowsMuchLargerIsBehind) {
  EXPECT_EQ(Held(ImageAndLabel(), {kCastImage}, {"image", "label"}),
            " | label INT64 [], image UINT8 [10,10,1] | "
            "0 of image FLOAT32 [10,10,1], label INT64 []");
  // 252 bytes are not much, 258 are.
  EXPECT_EQ(Held(ImageAndLabel({84}), {kCastImage}, {"image"}),
            "0 of image FLOAT32 [84], label INT64 [] | image FLOAT32 [84] | ");
  EXPECT_EQ(Held(ImageAndLabel({86}), {kCastImage}, {"image"}),
            " | image UINT8 [86] | 0 of image FLOAT32 [86]");
  EXPECT_EQ(Held(ImageAndLabel({kVaries, kVaries, 3}), {kCastImage}, {"image"}),
            " | image UINT8 [?,?,3] | 0 of image FLOAT32 [?,?,3]");
  EXPECT_EQ(Held(ImageAndLabel(), {"cast { feature: 'image' dtype: INT32 }"}, {"image"}),
            " | image UINT8 [10,10,1] | 0 of image INT32 [10,10,1]");
}

TEST(InputCacheTest, FeaturesOfOneConversionAreCountedTogether) {
  EXPECT_EQ(Held(ImageAndLabel(), {"cast { feature: 'image' feature: 'label' dtype: FLOAT32 }"},
                 {"image", "label"}),
            " | image UINT8 [10,10,1], label INT64 [] | "
            "0 of image FLOAT32 [10,10,1], label FLOAT32 []");
}

TEST(InputCacheTest, ThoseThatDoNotDependOnItStayInFront) {
  EXPECT_EQ(Held(ImageAndLabel(), {kCastImage, "cast { feature: 'label' dtype: INT32 }"},
                 {"image", "label"}),
            "1 of image UINT8 [10,10,1], label INT32 [] | "
            "label INT32 [], image UINT8 [10,10,1] | "
            "0 of image FLOAT32 [10,10,1], label INT32 []");
}

TEST(InputCacheTest, OneThatOthersDependOnStaysInFront) {
  EXPECT_EQ(Held(ImageAndLabel(), {kCastImage, "per_image_standardization { feature: 'image' }"},
                 {"image"}),
            "0 of image FLOAT32 [10,10,1], label INT64 []; "
            "1 of image FLOAT32 [10,10,1], label INT64 [] | image FLOAT32 [10,10,1] | ");
  // Its feature is made anew behind it.
  EXPECT_EQ(Held(ImageAndLabel(),
                 {"cast { feature: 'image' output: 'copy' dtype: FLOAT32 }",
                  "cast { feature: 'image' dtype: BOOL }"},
                 {"image", "copy"}),
            "0 of image UINT8 [10,10,1], label INT64 [], copy FLOAT32 [10,10,1]; "
            "1 of image BOOL [10,10,1], label INT64 [], copy FLOAT32 [10,10,1] | "
            "image BOOL [10,10,1], copy FLOAT32 [10,10,1] | ");
}

TEST(InputCacheTest, OneThatRefusesValuesOrMakesRowsSmallerStaysInFront) {
  const Schema numbers = {{"x", proto::FLOAT32, {100}}};
  EXPECT_EQ(Held(numbers, {"cast { feature: 'x' dtype: INT64 }"}, {"x"}),
            "0 of x INT64 [100] | x INT64 [100] | ");
  EXPECT_EQ(Held(numbers, {"cast { feature: 'x' dtype: BFLOAT16 }"}, {"x"}),
            "0 of x BFLOAT16 [100] | x BFLOAT16 [100] | ");
  EXPECT_EQ(Held(ImageAndLabel(), {"cast { feature: 'image' dtype: INT32 scale: 2 }"}, {"image"}),
            "0 of image INT32 [10,10,1], label INT64 [] | image INT32 [10,10,1] | ");
  const Schema integers = {{"x", proto::INT32, {100}}};
  EXPECT_EQ(Held(integers, {"cast { feature: 'x' dtype: INT64 }"}, {"x"}),
            " | x INT32 [100] | 0 of x INT64 [100]");
}

TEST(InputCacheTest, WithANewNameTheFeatureIsHeld) {
  const std::string cast = "cast { feature: 'image' output: 'values' dtype: FLOAT32 }";
  EXPECT_EQ(Held(ImageAndLabel(), {cast}, {"values"}),
            " | image UINT8 [10,10,1] | 0 of values FLOAT32 [10,10,1]");
  EXPECT_EQ(Held(ImageAndLabel(), {cast}, {"image", "values"}),
            " | image UINT8 [10,10,1] | 0 of image UINT8 [10,10,1], values FLOAT32 [10,10,1]");
  // What nothing needs is not made behind the cache either.
  EXPECT_EQ(Held(ImageAndLabel(), {cast}, {"label"}),
            "0 of image UINT8 [10,10,1], label INT64 [], values FLOAT32 [10,10,1] | "
            "label INT64 [] | ");
}

TEST(InputCacheTest, TheRowsAreThoseWithoutACache) {
  const TempDir dir;
  // An image, and a label that is 0 in every third row.
  std::string bytes;
  for (int row = 0; row < 7; ++row) {
    for (int i = 0; i < 100; ++i) bytes += static_cast<char>(row + i * 4);
    bytes += std::string({static_cast<char>(row % 3), 0, 0, 0});
  }
  std::ofstream(dir.Path("rows"), std::ios::binary) << bytes;
  // The batches of the features with the transforms in front of a place for a cache and behind it.
  const auto batches = [&](int threads, const std::string& features, const std::string& in_front,
                           const std::string& cache, const std::string& behind) -> std::string {
    auto input = Open(
        absl::StrCat("train { input { num_parallel_calls: ", threads,
                     " source { fixed_length_record { file: 'rows' record_bytes: 104 } }",
                     " transform { decode_raw { feature: 'record' output: 'label' dtype: INT32",
                     " offset: 100 } } transform { decode_raw { feature: 'record' output: 'bytes'",
                     " dtype: UINT8 shape: 104 } } transform { slice { feature: 'bytes'",
                     " output: 'image' begin: 0 size: 100 } } transform { slice { feature: 'bytes'",
                     " output: 'x' begin: 0 size: 100 } } ", in_front, cache, behind, " } }"),
        FeatureArgs(features, ModeKey::kEval, 4), dir.path());
    if (!input.ok()) return input.status().ToString();
    const absl::StatusOr<std::string> text = input->Batches();
    return text.ok() ? *text : text.status().ToString();
  };
  const std::string to_float =
      "transform { cast { feature: 'image' dtype: FLOAT32 scale: 2 offset: -1 } } ";
  const std::string label = "transform { cast { feature: 'label' dtype: INT64 } } ";
  const std::string copy = "transform { cast { feature: 'image' output: 'copy' dtype: FLOAT32 } } ";
  // It stays in front of a second cache, and one that makes m does not.
  const std::string normalize = "transform { normalize { feature: 'image' mean: 2 } } ";
  const std::string make_m = "transform { cast { feature: 'x' output: 'm' dtype: FLOAT32 } } ";
  const std::string order =
      "transform { repeat { count: 3 } } transform { shuffle { buffer_size: 5 } } ";
  const std::string filter = "transform { filter { feature: 'label' } } ";
  struct Case {
    std::string features, in_front, behind, second_row;
  };
  for (const Case& c : std::vector<Case>{
           {"image f32[100] label:label s64[]", to_float + label, order, "image=1,9,17,"},
           {"image f32[100]", filter + to_float, order + filter, "image=1,9,17,"},
           {"copy f32[100] image u8[100]", copy, order, "copy=1,5,9,"},
           {"copy f32[100] image f32[100]", copy + to_float, order, "copy=1,5,9,"},
           {"copy f32[100] image f32[100]", to_float, copy + order, "copy=1,9,17,"},
           {"image f32[100]", to_float, "transform { cache {} } " + order, "image=1,9,17,"},
           {"m f32[100] image f32[100]", make_m + to_float,
            normalize + "transform { cache {} } " + order, "image=-3,5,13,"},
           {"image f32[100] label:label f32[]",
            "transform { cast { feature: 'image' feature: 'label' dtype: FLOAT32 } } ", order,
            "image=1,5,9,"},
           {"image f32[2,100]", to_float, "transform { window { size: 2 } } " + order,
            "image=-1,7,15,"}}) {
    const std::string want = batches(1, c.features, c.in_front, "", c.behind);
    EXPECT_NE(want.find(c.second_row), std::string::npos) << want;
    for (const int threads : {1, 3}) {
      EXPECT_EQ(batches(threads, c.features, c.in_front, "transform { cache {} } ", c.behind),
                want);
    }
  }
}

}  // namespace
}  // namespace tpurun
