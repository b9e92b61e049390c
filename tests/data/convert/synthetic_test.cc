// convert synthetic: what a record depends on, and what is said of bad arguments.
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/convert/convert.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/convert/convert_fixture.h"

namespace tpurun {
namespace {

class SyntheticTest : public ConvertTest {
 protected:
  static ConvertArgs Args(const std::string& subject, int64_t examples, int64_t seed = 1) {
    return {.inputs = {subject}, .examples = examples, .seed = seed};
  }
  // The records of all shards in the order in which they were written.
  std::vector<std::string> Draw(const ConvertArgs& args, int shards = 1) const {
    EXPECT_EQ(Convert("synthetic", args, shards), "");
    std::vector<std::string> records(*args.examples);
    for (int shard = 0; shard < shards; ++shard) {
      const std::string name =
          shards == 1 ? "out" : absl::StrCat("out-0000", shard, "-of-0000", shards);
      size_t i = shard;
      for (const tensorflow::Example& example : Read(name)) {
        records.at(i) = absl::StrCat(Label(example), ":", Image(example));
        i += shards;
      }
      EXPECT_TRUE(RemoveFile(dir_.Path(name)).ok());
    }
    return records;
  }
};

TEST_F(SyntheticTest, TheFeaturesAreThoseOfIdx) {
  for (const auto& [subject, size, bytes] :
       {std::tuple("digits", 0, 28 * 28), std::tuple("digits", 40, 40 * 40),
        std::tuple("shapes", 0, 32 * 32 * 3), std::tuple("shapes", 224, 224 * 224 * 3)}) {
    ConvertArgs args = Args(subject, 3);
    if (size > 0) args.size = size;
    ASSERT_EQ(Convert("synthetic", args), "");
    const auto examples = Read("out");
    ASSERT_EQ(examples.size(), 3);
    for (const tensorflow::Example& example : examples) {
      EXPECT_EQ(Image(example).size(), bytes);
      EXPECT_THAT(Label(example), testing::AllOf(testing::Ge(0), testing::Le(9)));
      EXPECT_EQ(example.features().feature().size(), 2);
    }
  }
}

TEST_F(SyntheticTest, ARecordDependsOnItsNumberAndTheSeedAlone) {
  for (const char* subject : {"digits", "shapes"}) {
    const std::vector<std::string> want = Draw(Args(subject, 40));
    EXPECT_EQ(Draw(Args(subject, 40)), want);
    EXPECT_EQ(Draw(Args(subject, 40), 3), want);
    EXPECT_EQ(Draw(Args(subject, 7)), std::vector<std::string>(want.begin(), want.begin() + 7));
    // Nothing is there twice, not in another seed either, of which every bit counts.
    std::set<std::string> all(want.begin(), want.end());
    for (const int64_t seed : {int64_t{2}, int64_t{-1}, int64_t{1} << 40}) {
      for (const std::string& record : Draw(Args(subject, 40, seed))) all.insert(record);
    }
    EXPECT_EQ(all.size(), 160);
  }
}

TEST_F(SyntheticTest, TheFeaturesOfSentencePairsAreBerts) {
  const auto draw = [&](int64_t examples, int64_t seed, int64_t length) {
    ConvertArgs args = Args("sentence_pairs", examples, seed);
    args.sequence_length = length;
    args.max_predictions = 5;
    EXPECT_EQ(Convert("synthetic", args), "");
    std::vector<std::string> records;
    for (const tensorflow::Example& example : Read("out")) {
      const auto& features = example.features().feature();
      EXPECT_EQ(features.size(), 7);
      for (const char* name : {"input_ids", "input_mask", "segment_ids"})
        EXPECT_EQ(features.at(name).int64_list().value_size(), length) << name;
      for (const char* name : {"masked_lm_positions", "masked_lm_ids"})
        EXPECT_EQ(features.at(name).int64_list().value_size(), 5) << name;
      EXPECT_EQ(features.at("masked_lm_weights").float_list().value_size(), 5);
      EXPECT_EQ(features.at("next_sentence_labels").int64_list().value_size(), 1);
      records.emplace_back();
      for (const int64_t id : features.at("input_ids").int64_list().value())
        absl::StrAppend(&records.back(), id, " ");
    }
    return records;
  };
  const std::vector<std::string> want = draw(40, 1, 24);
  EXPECT_EQ(draw(7, 1, 24), std::vector<std::string>(want.begin(), want.begin() + 7));
  std::set<std::string> all(want.begin(), want.end());
  for (const std::string& record : draw(40, 2, 24)) all.insert(record);
  EXPECT_EQ(all.size(), 80);
}

TEST_F(SyntheticTest, ArgumentsThatDoNotFit) {
  const auto error = [&](ConvertArgs args) { return Convert("synthetic", args); };
  EXPECT_EQ(error(Args("digit", 1)),
            "INVALID_ARGUMENT: unknown subject \"digit\" to draw, did you mean \"digits\"?");
  EXPECT_EQ(error(Args("", 1)),
            "INVALID_ARGUMENT: unknown subject \"\" to draw (known: digits, shapes, "
            "sentence_pairs)");
  EXPECT_EQ(error({.inputs = {"digits", "shapes"}, .examples = 1}),
            "INVALID_ARGUMENT: convert synthetic: got 2 subjects, want one, such as shapes");
  EXPECT_EQ(error({.inputs = {"digits"}}),
            "INVALID_ARGUMENT: convert synthetic needs --examples=N, how many to draw");
  for (const int64_t examples : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(error(Args("digits", examples)),
              absl::StrCat("INVALID_ARGUMENT: --examples: got ", examples, ", want a number > 0"));
  }
  for (const int64_t size : {int64_t{15}, int64_t{0}, int64_t{-32}, int64_t{2049}, INT64_MAX}) {
    EXPECT_EQ(error({.inputs = {"digits"}, .examples = 1, .size = size}),
              absl::StrCat("INVALID_ARGUMENT: --size: got ", size, ", want 16 to 2048 pixels"));
  }
  const auto pairs = [&](auto ConvertArgs::*field, int64_t value) {
    ConvertArgs args = Args("sentence_pairs", 1);
    args.*field = value;
    return error(args);
  };
  EXPECT_EQ(pairs(&ConvertArgs::sequence_length, 15),
            "INVALID_ARGUMENT: --sequence_length: got 15, want 16 to 65536");
  EXPECT_EQ(pairs(&ConvertArgs::vocabulary_size, 31),
            "INVALID_ARGUMENT: --vocabulary_size: got 31, want 32 to 1048576");
  EXPECT_EQ(pairs(&ConvertArgs::max_predictions, 0),
            "INVALID_ARGUMENT: --max_predictions_per_seq: got 0, want 1 to 65536");
  EXPECT_EQ(pairs(&ConvertArgs::size, 32),
            "INVALID_ARGUMENT: --size is for convert synthetic digits or shapes, got "
            "sentence_pairs");
  EXPECT_EQ(error({.inputs = {"shapes"}, .examples = 1, .vocabulary_size = 64}),
            "INVALID_ARGUMENT: --vocabulary_size is for convert synthetic sentence_pairs, got "
            "shapes");
}

}  // namespace
}  // namespace tpurun
