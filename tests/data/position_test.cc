// A position restores exactly: for each pipeline, stopping after every batch and going on in a
// freshly opened input gives the same remaining batches.
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "runtime/io/file.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

constexpr int kRows = 23;

constexpr char kLines[] =
    "text_line { file: \"*.csv\" skip_lines: 1 } } "
    "transform { decode_csv { column { name: \"x\" dtype: INT32 } } ";

struct Pipeline {
  std::string name;
  std::string transforms;
  std::string source = kLines;  // and what makes features of it
  std::string features = "x s32[]";
  PipelineShard shard = {};
  int64_t batches_per_step = 1;
};

class InputFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream first(dir_.Path("a.csv")), second(dir_.Path("b.csv"));
    first << "header\n";
    second << "header\n";
    for (int row = 0; row < kRows; ++row) (row < 10 ? first : second) << row << "\n";
  }

  absl::StatusOr<OpenInput> Open(const Pipeline& pipeline, int64_t seed = 1) const {
    return tpurun::Open(absl::StrCat("train { input { source { ", pipeline.source, " } ",
                                     pipeline.transforms, " } }"),
                        {.mode = ModeKey::kEval,
                         .batch_size = 4,
                         .batches_per_step = pipeline.batches_per_step,
                         .shard = pipeline.shard,
                         .features = ParseFeatures(pipeline.features),
                         .seed = seed},
                        dir_.path());
  }
  absl::StatusOr<OpenInput> Open(const std::string& transforms, int64_t seed = 1) const {
    return Open(Pipeline{.transforms = transforms}, seed);
  }

  const TempDir dir_;
};

class PositionTest : public InputFiles, public ::testing::WithParamInterface<Pipeline> {};

constexpr int kMost = 40;  // batches of an endless pipeline: several epochs

TEST_P(PositionTest, RestoringAfterEveryBatchGivesTheSameRest) {
  auto whole = Open(GetParam());
  ASSERT_TRUE(whole.ok()) << whole.status();
  std::vector<std::string> batches;
  std::vector<std::string> positions = {whole->batches().Position()};
  std::vector<std::string> places;
  while (batches.size() < kMost) {
    const auto batch = whole->NextBatch();
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (batch->empty()) break;
    batches.push_back(*batch);
    positions.push_back(whole->batches().Position());
    places.push_back(whole->WhereLast());
  }
  ASSERT_GT(batches.size(), 1);
  for (size_t stop = 0; stop < positions.size(); ++stop) {
    auto resumed = Open(GetParam());
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    ASSERT_TRUE(resumed->batches().Restore(positions[stop]).ok()) << positions[stop];
    EXPECT_EQ(resumed->batches().Position(), positions[stop]);
    for (size_t i = stop; i < batches.size(); ++i) {
      EXPECT_EQ(resumed->NextBatch().value(), batches[i]) << "batch " << i << " after " << stop;
      EXPECT_EQ(resumed->batches().Position(), positions[i + 1]);
      EXPECT_EQ(resumed->WhereLast(), places[i]);
    }
    if (batches.size() < kMost) {
      EXPECT_EQ(resumed->NextBatch().value(), "") << "after " << stop;
    }
  }
  // The same object can go back, too.
  for (const size_t stop : {positions.size() - 1, positions.size() / 2, size_t{0}}) {
    ASSERT_TRUE(whole->batches().Restore(positions[stop]).ok()) << positions[stop];
    for (size_t i = stop; i < batches.size(); ++i)
      EXPECT_EQ(whole->NextBatch().value(), batches[i]);
  }
}

constexpr char kCache[] = "transform { cache {} } ";
constexpr char kRepeat[] = "transform { repeat {} } ";
constexpr char kShuffle[] = "transform { shuffle { buffer_size: 7 } } ";
constexpr char kShuffleAll[] = "transform { shuffle { buffer_size: 1000 } } ";

// One of three pipelines that share the records.
Pipeline Shard(Pipeline whole) {
  whole.shard = {.num_shards = 3, .index = 1};
  return whole;
}

// Two batches a step.
Pipeline InPairs(Pipeline single) {
  single.batches_per_step = 2;
  return single;
}

// Windows of the characters of the files.
Pipeline OfText(const std::string& name, const std::string& fields, const std::string& transforms) {
  return {name, transforms,
          absl::StrCat("text { file: \"*.csv\" sequence_length: 3 ", fields, " }"),
          "text s32[3] next s32[3]"};
}

// The lines of both files, and those of the first one with another key, with transforms of each.
Pipeline OfTwo(const std::string& name, const std::string& source, const std::string& first,
               const std::string& second, const std::string& transforms) {
  const bool zips = source == "zip {";
  const auto input = [](const char* file, const std::string& of, const char* key) {
    return absl::StrCat("input { source { text_line { file: \"", file,
                        "\" skip_lines: 1 } } transform { decode_csv { column { name: \"", key,
                        "\" dtype: INT32 } } } ", of, " } ");
  };
  const bool windows = first.find("window") != std::string::npos;
  return {name, transforms,
          absl::StrCat(source, " ", input("*.csv", first, "x"),
                       input("a.csv", second, zips ? "y" : "x"), "}"),
          windows ? "x s32[3] y s32[3]"
          : zips  ? "x s32[] y s32[]"
                  : "x s32[]"};
}

constexpr char kZip[] = "zip {";
constexpr char kSample[] = "sample_from_datasets { weight: 2 weight: 1";
constexpr char kWindow[] = "transform { window { size: 3 shift: 2 stride: 2 } } ";

Pipeline OfWindows(Pipeline pipeline) {
  pipeline.features = "x s32[3]";
  return pipeline;
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, PositionTest,
    ::testing::Values(
        Pipeline{"Streamed", ""}, Pipeline{"Cached", kCache}, Pipeline{"StreamedRepeat", kRepeat},
        Pipeline{"CachedShuffleRepeat", absl::StrCat(kCache, kShuffle, kRepeat)},
        Pipeline{"CachedShuffleAllRepeat", absl::StrCat(kCache, kShuffleAll, kRepeat)},
        Pipeline{"CachedRepeatShuffle", absl::StrCat(kCache, kRepeat, kShuffle)},
        Pipeline{"CachedRepeatShuffleAll", absl::StrCat(kCache, kRepeat, kShuffleAll)},
        Pipeline{"StreamedShuffleRepeat", absl::StrCat(kShuffle, kRepeat)},
        Pipeline{"StreamedShuffleAllRepeat", absl::StrCat(kShuffleAll, kRepeat)},
        Pipeline{"StreamedRepeatShuffle", absl::StrCat(kRepeat, kShuffle)},
        Pipeline{"StreamedFiniteRepeatShuffle",
                 absl::StrCat("transform { repeat { count: 3 } } ", kShuffle)},
        Pipeline{"TwoShuffles", absl::StrCat(kShuffle, kShuffle, kRepeat)},
        Pipeline{"ShuffleOnBothSides", absl::StrCat(kShuffle, kRepeat, kShuffle)},
        Pipeline{"NestedRepeats", absl::StrCat(kShuffle,
                                               "transform { repeat { count: 2 } } transform {"
                                               " take { count: 30 } } ",
                                               kRepeat)},
        Pipeline{"TakeSkipShard",
                 absl::StrCat("transform { skip { count: 3 } } transform { take { count: 19 } } "
                              "transform { shard { num_shards: 3 index: 1 } } ",
                              kShuffle, kRepeat)},
        Pipeline{"ShardOfSeveralIndices",
                 absl::StrCat("transform { shard { num_shards: 4 index: [3, 1, 2] } } ", kRepeat)},
        Pipeline{
            "CachedTakeSkipShard",
            absl::StrCat(kCache,
                         "transform { shard { num_shards: 2 } } transform { skip { count: 2 } } ",
                         kRepeat, "transform { skip { count: 5 } }")},
        Pipeline{"TakeOfEndless", absl::StrCat(kRepeat, "transform { take { count: 50 } }")},
        Pipeline{
            "WithoutReshuffling",
            absl::StrCat("transform { shuffle { buffer_size: 9 reshuffle_each_iteration: false } }",
                         kRepeat)},
        Pipeline{"RepeatAfterBatch",
                 absl::StrCat(kShuffle, "transform { batch { drop_remainder: true } }", kRepeat)},
        Pipeline{"DropRemainder", "transform { batch { drop_remainder: true } }"},
        Shard({"Shard", ""}), Shard({"ShardCached", absl::StrCat(kCache, kShuffle, kRepeat)}),
        Shard({"ShardShuffleRepeat", absl::StrCat(kShuffle, kRepeat)}),
        Shard({"ShardRepeatShuffle", absl::StrCat(kRepeat, kShuffle)}),
        Shard({"ShardRepeatAfterBatch",
               absl::StrCat("transform { batch { drop_remainder: true } }", kRepeat)}),
        InPairs({"Pairs", ""}), InPairs({"PairsRepeatShuffle", absl::StrCat(kRepeat, kShuffle)}),
        InPairs({"PairsRepeatAfterBatch",
                 absl::StrCat(kShuffle, "transform { batch { drop_remainder: true } }", kRepeat)}),
        Pipeline{"ShuffleThenCache", absl::StrCat(kShuffle, kCache, kShuffle, kRepeat)},
        OfText("Text", "", ""), OfText("TextStreams", "streams: 4", kRepeat),
        OfText("TextShuffleRepeat", "shift: 1 end: 0.9", absl::StrCat(kShuffle, kRepeat)),
        OfText("TextRepeatShuffle", "shift: 5 begin: 0.1", absl::StrCat(kRepeat, kShuffleAll)),
        OfText("TextCached", "streams: 2", absl::StrCat(kCache, kShuffle, kRepeat)),
        OfTwo("Zip", kZip, "", kRepeat, kRepeat),
        OfTwo("ZipOfShuffles", kZip, absl::StrCat(kRepeat, kShuffle),
              absl::StrCat(kShuffle, kRepeat), kShuffle),
        OfTwo("ZipRepeatShuffle", kZip, kShuffle, "", absl::StrCat(kRepeat, kShuffle)),
        OfTwo("ZipCached", kZip, kCache, kShuffle, absl::StrCat(kCache, kShuffle, kRepeat)),
        Shard(OfTwo("ZipShard", kZip, kShuffle, kShuffle, kRepeat)),
        Shard(OfTwo("SampleShard", kSample, kShuffle, "", kRepeat)),
        OfTwo("ZipOfEndlessWindowsShuffle", kZip, absl::StrCat(kRepeat, kWindow),
              absl::StrCat(kRepeat, kWindow, kShuffle), absl::StrCat(kShuffle)),
        OfTwo("SampleOfEndlessRepeatShuffle", kSample, kRepeat, kRepeat,
              "transform { take { count: 90 } } transform { shuffle { buffer_size: 7 } }"),
        OfTwo("Sample", kSample, "", "", ""),
        OfTwo("SampleRepeatShuffle", kSample, kShuffle, kCache, absl::StrCat(kRepeat, kShuffle)),
        OfTwo("SampleOfEndless", kSample, absl::StrCat(kShuffle, kRepeat), "", ""),
        OfTwo("SampleStops", absl::StrCat(kSample, " stop_on_empty_dataset: true"), kShuffle,
              kRepeat, kRepeat),
        OfWindows({"Windows", kWindow}),
        OfWindows({"WindowsRepeat", absl::StrCat(kWindow, kRepeat)}),
        OfWindows({"RepeatWindows", absl::StrCat(kRepeat, kWindow)}),
        OfWindows({"ShuffleRepeatWindowsShuffle",
                   absl::StrCat(kShuffle, kRepeat, kWindow, kShuffle)}),
        OfWindows({"CacheShuffleWindowsRepeatShuffle",
                   absl::StrCat(kCache, kShuffle, kWindow, kRepeat, kShuffle)}),
        OfWindows({"WindowsWithGaps",
                   absl::StrCat("transform { window { size: 3 shift: 5 } } ", kShuffle, kRepeat)}),
        Shard(OfWindows({"WindowsShard", absl::StrCat(kRepeat, kWindow, kShuffle)})),
        Pipeline{
            "Interleave", absl::StrCat(kShuffle, kRepeat),
            "text_line { file: \"*.csv\" skip_lines: 1 interleave { cycle_length: 2 "
            "block_length: 3 } } } transform { decode_csv { column { name: \"x\" dtype: INT32 } "
            "} "}),
    [](const auto& info) { return info.param.name; });

// The rest is about shuffles and positions in general, with the same files.
class ShuffleTest : public InputFiles {
 protected:
  std::vector<int> Values(const std::string& transforms, int64_t batches, int64_t seed = 1) const {
    auto input = Open(transforms, seed);
    EXPECT_TRUE(input.ok()) << input.status();
    std::vector<int> values;
    for (const auto line :
         absl::StrSplit(input->Batches(batches).value(), '\n', absl::SkipEmpty())) {
      if (line != "--") values.push_back(std::stoi(std::string(line.substr(2))));
    }
    return values;
  }
};

TEST_F(ShuffleTest, EachEpochIsAPermutationAndAnotherOne) {
  for (const char* const shuffle : {kShuffle, kShuffleAll}) {
    const std::vector<int> values = Values(absl::StrCat(kCache, shuffle, kRepeat), 23);
    ASSERT_EQ(values.size(), 4 * kRows);
    std::set<std::vector<int>> orders;
    for (int epoch = 0; epoch < 4; ++epoch) {
      const auto begin = values.begin() + epoch * kRows;
      EXPECT_EQ(std::set<int>(begin, begin + kRows).size(), kRows);
      orders.emplace(begin, begin + kRows);
    }
    EXPECT_EQ(orders.size(), 4);
  }
}

TEST_F(ShuffleTest, AnElementComesAtMostABufferEarly) {
  const std::vector<int> values = Values(absl::StrCat(kCache, kShuffle), 10);
  ASSERT_EQ(values.size(), kRows);
  for (int i = 0; i < kRows; ++i) EXPECT_LT(values[i], i + 7);
}

TEST_F(ShuffleTest, EveryOrderOfAFullShuffleIsAboutAsLikely) {
  // 6 orders of 3 elements in 6000 epochs: 1000 each, standard deviation 29; the bound is 5 of
  // them.
  const std::vector<int> values =
      Values(absl::StrCat("transform { take { count: 3 } } ", kCache, kShuffleAll, kRepeat), 4500);
  std::map<std::vector<int>, int> counts;
  for (size_t i = 0; i < values.size(); i += 3) {
    ++counts[{values[i], values[i + 1], values[i + 2]}];
  }
  EXPECT_EQ(counts.size(), 6);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 145);
}

TEST_F(ShuffleTest, TheSeedDecidesTheOrder) {
  const std::string transforms = absl::StrCat(kShuffleAll, kRepeat);
  EXPECT_EQ(Values(transforms, 20, 1), Values(transforms, 20, 1));
  EXPECT_NE(Values(transforms, 20, 1), Values(transforms, 20, 2));
}

TEST_F(ShuffleTest, StreamedAndCachedGiveTheSameOrder) {
  EXPECT_EQ(Values(absl::StrCat(kShuffle, kRepeat), 20),
            Values(absl::StrCat(kCache, kShuffle, kRepeat), 20));
}

TEST_F(ShuffleTest, AfterRepeatEpochsMix) {
  const std::vector<int> values = Values(absl::StrCat(kCache, kRepeat, kShuffleAll), 6);
  EXPECT_LT(std::set<int>(values.begin(), values.begin() + kRows).size(), kRows);
}

TEST_F(ShuffleTest, APositionIsAFewWordsWithinAnEpoch) {
  auto input = Open(absl::StrCat(kCache, kShuffleAll, kRepeat));
  ASSERT_TRUE(input.ok()) << input.status();
  ASSERT_TRUE(input->Batches(7).ok());
  EXPECT_EQ(
      input->batches().Position(),
      "text_line skip_lines 1 | cache 23 | shuffle { buffer_size: 1000 } (stream 0) | repeat { } "
      "| tf_random_seed 1 @2 repeat 0 1 5 shuffle 1 5");
}

// Version 1 of positions, written by tpurun of November 2026, and the batch after it.
TEST_F(ShuffleTest, APositionOfVersion1IsRead) {
  for (const char* const cache : {"", kCache}) {
    auto input = Open(absl::StrCat(cache, kRepeat, kShuffle));
    const absl::Status restored = input->batches().Restore(
        absl::StrCat("text_line skip_lines 1 |", *cache == 0 ? "" : " cache 23 |",
                     " repeat { } | shuffle { buffer_size: 7 } (stream 0) "
                     "@ shuffle 0 52 1 7 20 1 12 22 11 8 9 repeat 0 2 13 records 2 13"));
    ASSERT_TRUE(restored.ok()) << restored;
    EXPECT_EQ(input->NextBatch().value(), "x=1\nx=13\nx=11\nx=8\n");
  }
}

TEST_F(ShuffleTest, APositionOfALaterVersionIsRefused) {
  auto input = Open(kRepeat);
  EXPECT_EQ(input->batches()
                .Restore("text_line skip_lines 1 | repeat { } @3 repeat 0 0 0 records 0 0")
                .ToString(),
            "DATA_LOSS: the saved input position is of version \"3\", want 1 or 2");
}

TEST_F(ShuffleTest, APositionOfAnotherInputIsRefused) {
  const auto signature = [](int buffer_size) {
    return absl::StrCat("text_line skip_lines 1 | cache 23 | shuffle { buffer_size: ", buffer_size,
                        " } (stream 0) | repeat { }");
  };
  auto input = Open(absl::StrCat(kCache, kShuffleAll, kRepeat));
  const std::string position = input->batches().Position();
  auto other = Open(absl::StrCat(kCache, kShuffle, kRepeat));
  EXPECT_EQ(other->batches().Restore(position).ToString(),
            absl::StrCat("INVALID_ARGUMENT: the saved input position belongs to another input: got "
                         "\"",
                         signature(1000), "\", want \"", signature(7), "\""));
}

TEST_F(ShuffleTest, APositionOfAnotherSeedIsRefused) {
  constexpr char kResample[] =
      "transform { rejection_resample { feature: \"x\" target_dist: [1, 1] initial_dist: [7, 2] } "
      "} ";
  const Pipeline pipelines[] = {
      {"shuffle", absl::StrCat(kRepeat, kShuffle)},
      {"rejection_resample", absl::StrCat("transform { take { count: 2 } } ", kResample, kRepeat)},
      OfTwo("sample_from_datasets", kSample, "", "", ""),
      OfTwo("shuffle of an input", kZip, "", kShuffle, kRepeat),
      Shard({"shuffle of a shard", absl::StrCat(kShuffle, kRepeat)}),
  };
  for (const Pipeline& pipeline : pipelines) {
    SCOPED_TRACE(pipeline.name);
    auto input = Open(pipeline);
    ASSERT_TRUE(input.ok()) << input.status();
    const std::string position = input->batches().Position();
    EXPECT_EQ(Open(pipeline, /*seed=*/77)->batches().Restore(position).ToString(),
              "INVALID_ARGUMENT: the saved input position is in an order that another seed has "
              "drawn: got tf_random_seed 77, want 1");
    // Older positions have no seed.
    const std::string old = absl::StrReplaceAll(position, {{" | tf_random_seed 1", ""}});
    ASSERT_NE(old, position);
    EXPECT_TRUE(Open(pipeline, /*seed=*/77)->batches().Restore(old).ok());
  }
}

TEST_F(ShuffleTest, ASeedMayBeNegative) {
  const std::string transforms = absl::StrCat(kRepeat, kShuffle);
  const std::string position = Open(transforms, /*seed=*/-8)->batches().Position();
  EXPECT_TRUE(Open(transforms, /*seed=*/-8)->batches().Restore(position).ok());
  EXPECT_TRUE(absl::EndsWith(Open(transforms, /*seed=*/-9)->batches().Restore(position).message(),
                             "got tf_random_seed -9, want -8"));
}

TEST_F(ShuffleTest, AnInputInTheOrderOfItsFilesTakesAnySeed) {
  const std::string position = Open(kRepeat)->batches().Position();
  EXPECT_TRUE(Open(kRepeat, /*seed=*/77)->batches().Restore(position).ok());
}

// Which shuffle it is decides the order: a position without that was written when its place did.
TEST_F(ShuffleTest, APositionOfAnotherOrderIsRefused) {
  const std::string transforms = absl::StrCat(kCache, kShuffleAll, kRepeat);
  const std::string position = Open(transforms)->batches().Position();
  const std::string old = absl::StrReplaceAll(position, {{" (stream 0)", ""}});
  ASSERT_NE(old, position);
  EXPECT_EQ(Open(transforms)->batches().Restore(old).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ShuffleTest, NamesOfFilesInAnOlderPositionAreLeftOut) {
  auto input = Open(absl::StrCat(kCache, kShuffle, kRepeat));
  ASSERT_TRUE(input->Batches(3).ok());
  const std::string position = input->batches().Position();
  ASSERT_TRUE(absl::StartsWith(position, "text_line skip_lines 1 | ")) << position;
  const std::string rest = position.substr(std::string("text_line").size());
  for (const char* const names : {R"( "*.csv")", R"( "a.csv" "b.csv")", R"( "\"a\" \\" "b")"}) {
    auto other = Open(absl::StrCat(kCache, kShuffle, kRepeat));
    const absl::Status restored = other->batches().Restore(absl::StrCat("text_line", names, rest));
    ASSERT_TRUE(restored.ok()) << restored;
    EXPECT_EQ(other->batches().Position(), position);
  }
  for (const char* const damaged : {R"( "a.csv)", R"( ")", R"( "a\)"}) {
    EXPECT_FALSE(input->batches().Restore(absl::StrCat("text_line", damaged, rest)).ok());
  }
}

// A training's files.
std::string Identities(const InputSource& source) {
  std::string text;
  for (const InputFile& file : source.files) {
    absl::StrAppend(&text, BaseName(file.name), " ", file.identity, "\n");
  }
  return text;
}

TEST_F(ShuffleTest, AFileIsKnownByItsLengthAndItsEnds) {
  // The checksums of RFC 3720 B.4 for 32 bytes of zeros, and of 64 KiB by `crc32c` of Python.
  std::ofstream(dir_.Path("a.csv")) << std::string(32, '\0');
  std::ofstream(dir_.Path("b.csv"))
      << "x" << std::string(65535, 'y') << "z" << std::string(65535, 'w');
  const auto identities = [&](const std::string& files, ModeKey mode) {
    const auto input = tpurun::Open(
        absl::StrCat("train { input { source { text_line { ", files,
                     " } } transform { decode_csv { ",
                     "column { name: \"x\" dtype: INT32 } } } } }"),
        {.mode = mode, .batch_size = 4, .features = ParseFeatures("x s32[]")}, dir_.path());
    EXPECT_TRUE(input.ok()) << input.status();
    return Identities(input->source());
  };
  constexpr char kA[] = "a.csv 32 8a9136aa 8a9136aa\n";
  constexpr char kB[] = "b.csv 131072 937b7c5f 6a4941e2\n";
  EXPECT_EQ(identities("file: \"*.csv\"", ModeKey::kTrain), absl::StrCat(kA, kB));
  EXPECT_EQ(identities("file: \"b.csv\" file: \"./a.csv\"", ModeKey::kTrain), absl::StrCat(kB, kA));
  // Nobody resumes an evaluation.
  EXPECT_EQ(identities("file: \"*.csv\"", ModeKey::kEval), "");
}

TEST_F(ShuffleTest, ADamagedPositionIsRefused) {
  for (const std::string& transforms :
       {absl::StrCat(kCache, kShuffle, kRepeat), absl::StrCat(kRepeat, kShuffle)}) {
    auto input = Open(transforms);
    ASSERT_TRUE(input->Batches(8).ok());
    const std::string position = input->batches().Position();
    for (size_t length = 0; length < position.size(); ++length) {
      // Half a number is a number: cut only between words.
      if (position[length] != ' ') continue;
      auto fresh = Open(transforms);
      EXPECT_FALSE(fresh->batches().Restore(position.substr(0, length)).ok()) << length;
    }
    EXPECT_FALSE(Open(transforms)->batches().Restore(position + " 7").ok());
    EXPECT_FALSE(Open(transforms)->batches().Restore(absl::StrCat(position, "x")).ok());
  }
  auto input = Open(kRepeat);
  EXPECT_EQ(
      input->batches()
          .Restore("text_line skip_lines 1 | repeat { } @ repeat 0 1 0 records 1 1000")
          .ToString(),
      "DATA_LOSS: the input has 23 records, but the position to restore is at record 1000: were "
      "its files changed?");
}

}  // namespace
}  // namespace tpurun
