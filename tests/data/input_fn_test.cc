// MakeInputFn as the estimator sees it: what is refused and how, what an opened input says of
// itself.
#include "data/input_fn.h"

#include <sys/stat.h>

#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/config_errors.h"
#include "proto/run_config.pb.h"
#include "tests/data/run_input.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

constexpr char kNumbers[] =
    "source { from_tensor_slices { feature { name: \"x\" int64 { value: [1, 2, 3, 4, 5] } } } }\n";

TEST(InputFnTest, ASourceIsNeeded) {
  EXPECT_EQ(
      ErrorOfInput("", FeatureArgs("x s64[]")),
      "INVALID_ARGUMENT: run.textproto:1:9: source must be given (known: tfrecord, text_line, "
      "fixed_length_record, image_file, text, from_tensor_slices, zip, sample_from_datasets)");
}

TEST(InputFnTest, ATransformHasAKind) {
  EXPECT_EQ(ErrorOfInput(absl::StrCat(kNumbers, "transform {}"), FeatureArgs("x s64[]")),
            "INVALID_ARGUMENT: run.textproto:3:1: a transform without a kind; tpurun help "
            "transforms lists them");
}

TEST(InputFnTest, EveryMistakeIsReportedAtOnceBeforeAFileIsTouched) {
  EXPECT_EQ(
      ErrorOfInput("source { text_line { file: \"absent.csv\" skip_lines: -1 } }\n"
                   "transform { shuffle { buffer_size: 0 } }\n"
                   "transform { batch {} }\n"
                   "transform { take { count: 3 } }\n",
                   FeatureArgs("x s64[]")),
      "INVALID_ARGUMENT: run.textproto:2:41: text_line: skip_lines must be >= 0, got -1\n"
      "run.textproto:3:23: shuffle: buffer_size must be > 0, got 0\n"
      "run.textproto:5:13: take after batch: would work on whole batches; put it before batch");
}

TEST(InputFnTest, EveryMistakeOfOneMessageIsReported) {
  EXPECT_EQ(ErrorOfInput("source { tfrecord { file: \"\"\n"
                         "num_parallel_reads: 0 } }",
                         FeatureArgs("x f32[]")),
            "INVALID_ARGUMENT: run.textproto:2:21: tfrecord: file must not be empty\n"
            "run.textproto:3:1: tfrecord: num_parallel_reads must be > 0, got 0");
  EXPECT_EQ(ErrorOfInput("source { from_tensor_slices {\n"
                         "feature { name: \"x\" }\n"
                         "feature { name: \"y\" int64 { value: [1, 2] } }\n"
                         "feature { name: \"z\" int64 { value: 1 } }\n"
                         "feature { name: \"y\" int64 { value: [1, 2] } }\n"
                         "feature { name: \"w\" int64 { value: 1 } } } }",
                         FeatureArgs("x f32[]")),
            "INVALID_ARGUMENT: run.textproto:3:1: from_tensor_slices: feature \"x\" has no values: "
            "want float, int64 or bytes { value: [...] }\n"
            "run.textproto:5:1: from_tensor_slices: feature \"z\" has 1 elements, but \"y\" has 2: "
            "all features must have the same number\n"
            "run.textproto:6:1: from_tensor_slices: feature \"y\" is given twice");
  EXPECT_EQ(ErrorOfInput("source { text_line { file: \"a.csv\" } }\n"
                         "transform { decode_csv {\n"
                         "column { name: \"a\" dtype: BOOL shape: 0 }\n"
                         "column {}\n"
                         "column { name: \"a\" default_value: \"x\" }\n"
                         "field_delim: \"\" } }\n"
                         "transform { cast { feature: \"b\" } }",
                         FeatureArgs("x f32[]")),
            "INVALID_ARGUMENT: run.textproto:4:20: decode_csv: column 1 \"a\": dtype must be "
            "FLOAT32, INT32, INT64 or STRING, got BOOL; a cast after decode_csv makes other types\n"
            "run.textproto:4:32: decode_csv: column 1 \"a\": every dimension of shape must be > 0, "
            "got 0\n"
            "run.textproto:5:1: decode_csv: column 2 has no name\n"
            "run.textproto:6:1: decode_csv: column 3: the key \"a\" is there already\n"
            "run.textproto:6:20: decode_csv: column 3 \"a\": default_value must be FLOAT32, got "
            "\"x\"\n"
            "run.textproto:7:1: decode_csv: field_delim must be one character, got \"\"");
  EXPECT_EQ(ErrorOfInput("source { tfrecord { file: \"a.tfrecord\" } }\n"
                         "transform { parse_example {\n"
                         "feature { name: \"a\" }\n"
                         "feature { name: \"a\" float { shape: 3 default_value: [1, 2] } } } }",
                         FeatureArgs("x f32[]")),
            "INVALID_ARGUMENT: run.textproto:4:1: parse_example: feature \"a\" has no kind: want "
            "bytes {}, int64 {} or float {}\n"
            "run.textproto:5:1: parse_example: feature \"a\": 2 default values, want 1 or 3\n"
            "run.textproto:5:1: parse_example: the key \"a\" is there already");
  EXPECT_EQ(ErrorOfInput(absl::StrCat(kNumbers,
                                      "transform { normalize {\n"
                                      "feature: \"y\"\n"
                                      "mean: [nan, inf]\n"
                                      "stddev: 0\n"
                                      "feature: \"z\" } }"),
                         FeatureArgs("x f32[]")),
            "INVALID_ARGUMENT: run.textproto:4:1: normalize: unknown feature \"y\", did you mean "
            "\"x\"?\n"
            "run.textproto:5:1: normalize: mean must be a finite number, got nan\n"
            "run.textproto:5:1: normalize: mean must be a finite number, got inf\n"
            "run.textproto:6:1: normalize: stddev must be a finite number > 0 (1 for a column that "
            "never changes), got 0\n"
            "run.textproto:7:1: normalize: unknown feature \"z\", did you mean \"x\"?");
  EXPECT_EQ(
      ErrorOfInput(absl::StrCat(kNumbers,
                                "transform { lookup { feature: \"x\"\n"
                                "vocabulary_list: \"1\"\n"
                                "vocabulary_list: \"one\"\n"
                                "vocabulary_list: \"1\" } }"),
                   FeatureArgs("x f32[]")),
      "INVALID_ARGUMENT: run.textproto:5:1: lookup: want an integer, for an INT64 feature, got "
      "\"one\"\n"
      "run.textproto:6:1: lookup: the entry \"1\" is there already, with id 0");
}

TEST(InputFnTest, MistakesOfOthersAreNotThoseOfTheInput) {
  proto::Input input;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kNumbers, &input));
  ConfigErrors errors;
  errors.Add("train_batch_size", "train_batch_size must be > 0, got 0");
  EXPECT_NE(ParseInput(input, {}, {}, "train.input", "", errors), nullptr);
  EXPECT_EQ(errors.all().size(), 1);
  input.add_transform();
  EXPECT_EQ(ParseInput(input, {}, {}, "train.input", "", errors), nullptr);
  ASSERT_EQ(errors.all().size(), 2);
  EXPECT_EQ(errors.all()[1].path, "train.input.transform[0]");
}

TEST(InputFnTest, AnAbsentFeatureIsReportedWithTheKeysPresent) {
  EXPECT_EQ(ErrorOfInput(kNumbers, FeatureArgs("x s64[] y f32[] label:z s32[]")),
            "INVALID_ARGUMENT: run.textproto:1:9: feature \"y\" of the model is not in the input "
            "(keys present: x)\n"
            "run.textproto:1:9: label \"z\" of the model is not in the input (keys present: x)");
}

TEST(InputFnTest, PredictGoesWithoutALabelButNotWithoutAFeature) {
  const auto input =
      Open(TrainConfig(kNumbers), FeatureArgs("label:y s32[] x s64[]", ModeKey::kPredict));
  ASSERT_TRUE(input.ok()) << input.status();
  ASSERT_EQ(input->source().features.size(), 1);
  EXPECT_EQ(input->source().features[0].name, "x");
  EXPECT_EQ(ErrorOfInput(kNumbers, FeatureArgs("y s64[]", ModeKey::kPredict)),
            "INVALID_ARGUMENT: run.textproto:1:9: feature \"y\" of the model is not in the input "
            "(keys present: x)");
}

TEST(InputFnTest, AnotherTypeIsReportedWithTheTransformToAdd) {
  EXPECT_EQ(ErrorOfInput(kNumbers, FeatureArgs("x f32[]")),
            "INVALID_ARGUMENT: run.textproto:1:9: feature \"x\": the model wants FLOAT32 [], the "
            "input has INT64 []; add transform { cast { feature: \"x\" dtype: FLOAT32 } }");
}

TEST(InputFnTest, AnotherShapeIsReported) {
  EXPECT_EQ(
      ErrorOfInput(kNumbers, FeatureArgs("x s64[2]")),
      "INVALID_ARGUMENT: run.textproto:1:9: feature \"x\": the model wants INT64 [2], the input "
      "has INT64 []; give it shape [2] where it is decoded, or in the model");
}

TEST(InputFnTest, AStringCannotBeFed) {
  EXPECT_EQ(
      ErrorOfInput("source { text_line { file: \"absent.csv\" } }", FeatureArgs("line f32[]")),
      "INVALID_ARGUMENT: run.textproto:1:9: feature \"line\": the model wants FLOAT32 [], the "
      "input has STRING []; a STRING cannot be fed: decode it, make ids of it with transform { "
      "lookup {} }, or give its column another dtype");
}

TEST(InputFnTest, SlicesMustHaveTheSameNumberOfElements) {
  EXPECT_EQ(
      ErrorOfInput("source { from_tensor_slices { feature { name: \"x\" int64 { value: [1, 2] } } "
                   "feature { name: \"y\" float { value: [1, 2, 3] } } } }",
                   FeatureArgs("x s64[]")),
      "INVALID_ARGUMENT: run.textproto:2:77: from_tensor_slices: feature \"y\" has 3 elements, "
      "but \"x\" has 2: all features must have the same number");
  EXPECT_EQ(
      ErrorOfInput("source { from_tensor_slices { feature { name: \"x\" int64 { value: [1, 2, 3] "
                   "shape: 2 } } } }",
                   FeatureArgs("x s64[2]")),
      "INVALID_ARGUMENT: run.textproto:2:31: from_tensor_slices: feature \"x\": 3 values do not "
      "divide into elements of shape [2] (2 values each)");
}

TEST(InputFnTest, SlicesHavePrintableNames) {
  EXPECT_EQ(ErrorOfInput(
                "source { from_tensor_slices { feature { name: \"x\\n\" int64 { value: 1 } } } }",
                FeatureArgs("x s64[]")),
            "INVALID_ARGUMENT: run.textproto:2:41: from_tensor_slices: got the name \"x\\n\", want "
            "printable text (UTF-8)");
}

TEST(InputFnTest, ExamplesOfAnEpochAreCounted) {
  const TempDir dir;
  std::ofstream(dir.Path("a.csv")) << "header\n1\n2\n3\n";
  std::ofstream(dir.Path("b.csv")) << "header\n4\n5";
  const std::string source =
      "source { text_line { file: \"*.csv\" skip_lines: 1 } }\n"
      "transform { decode_csv { column { name: \"x\" } } }\n";
  const auto count = [&](const std::string& transforms, ModeKey mode, bool* endless) {
    const auto input = Open(TrainConfig(absl::StrCat(source, transforms)),
                            FeatureArgs("x f32[]", mode), dir.path());
    EXPECT_TRUE(input.ok()) << input.status();
    *endless = input->source().endless;
    return input->source().examples_per_epoch;
  };
  bool endless = true;
  const std::string drop = "transform { batch { drop_remainder: true } }";
  EXPECT_EQ(count(drop, ModeKey::kTrain, &endless), 5);
  EXPECT_TRUE(endless);
  EXPECT_EQ(count("transform { repeat { count: 1 } }" + drop, ModeKey::kTrain, &endless), 5);
  EXPECT_FALSE(endless);
  EXPECT_EQ(count(drop, ModeKey::kEval, &endless), -1);
  EXPECT_FALSE(endless);
  EXPECT_EQ(count("transform { repeat {} }", ModeKey::kTrain, &endless), 5);
  EXPECT_TRUE(endless);
  EXPECT_EQ(count("transform { repeat {} } transform { take { count: 7 } }" + drop, ModeKey::kTrain,
                  &endless),
            7);
  EXPECT_FALSE(endless);
  EXPECT_EQ(count("transform { skip { count: 1 } } transform { shard { num_shards: 3 } } "
                  "transform { repeat { count: 2 } }" +
                      drop,
                  ModeKey::kTrain, &endless),
            4);
  EXPECT_EQ(count("transform { shard { num_shards: 3 index: [2, 0] } }" + drop, ModeKey::kTrain,
                  &endless),
            3);
  EXPECT_EQ(
      count("transform { cache {} } transform { take { count: 3 } }", ModeKey::kEval, &endless), 3);
  // Nobody asks; a second reading would be wasted.
  EXPECT_EQ(count("", ModeKey::kEval, &endless), -1);
}

TEST(InputFnTest, TrainingRepeatsAnInputWithoutARepeatOfItsOwn) {
  const InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kTrain, 4);
  auto input = Open(TrainConfig(absl::StrCat(kNumbers, "transform { batch {} }")), args);
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_TRUE(input->source().endless);
  EXPECT_EQ(input->source().examples_per_epoch, 5);
  EXPECT_EQ(input->Batches(2).value(), "x=1\nx=2\nx=3\nx=4\n--\nx=5\nx=1\nx=2\nx=3\n");

  auto repeated = Open(TrainConfig(absl::StrCat(kNumbers, "transform { repeat {} }")), args);
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(repeated->batches().Position(),
            "from_tensor_slices 5 | repeat { } @2 repeat 0 0 0 records 0 0");

  const std::string drop = "transform { batch { drop_remainder: true } }";
  auto counted =
      Open(TrainConfig(absl::StrCat(kNumbers, "transform { repeat { count: 2 } }", drop)), args);
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_FALSE(counted->source().endless);
  EXPECT_EQ(counted->Batches().value(), "x=1\nx=2\nx=3\nx=4\n--\nx=5\nx=1\nx=2\nx=3\n");
}

TEST(InputFnTest, APipeIsReadOnceToTrain) {
  const TempDir dir;
  const std::string path = dir.Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string input =
      absl::StrCat("source { text_line { file: \"", path,
                   "\" } } transform { decode_csv { column { name: \"x\" dtype: INT64 } } }");
  for (const bool cached : {false, true}) {
    std::thread writer([&] { std::ofstream(path) << "1\n2\n3\n"; });
    auto opened = Open(TrainConfig(absl::StrCat(input, cached ? "transform { cache {} }" : "")),
                       FeatureArgs("x s64[]", ModeKey::kTrain, 2));
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->source().endless, cached);
    ASSERT_EQ(opened->source().files.size(), 1u);
    EXPECT_EQ(opened->source().files[0].identity, "stream");
    EXPECT_EQ(opened->Batches(2).value(),
              cached ? "x=1\nx=2\n--\nx=3\nx=1\n" : "x=1\nx=2\n--\nx=3\n");
    writer.join();
  }
}

TEST(InputFnTest, ATransformBehindACacheThatDroppedColumns) {
  const TempDir dir;
  const std::string path = dir.Path("rows.csv");
  std::ofstream(path) << "1,10,100\n2,20,200\n";
  auto opened = Open(TrainConfig(absl::StrCat("source { text_line { file: \"", path, R"(" } }
      transform { decode_csv { column { name: "w" dtype: INT64 } column { name: "x" dtype: INT64 }
                               column { name: "y" dtype: INT64 } } }
      transform { cache {} } transform { cast { feature: "x" dtype: INT32 } })")),
                     FeatureArgs("x s32[]", ModeKey::kEval, 2));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->Batches().value(), "x=10\nx=20\n");
}

TEST(InputFnTest, PrefetchIsInBatches) {
  const auto prefetch = [](const std::string& transforms) {
    const auto input = Open(TrainConfig(absl::StrCat(kNumbers, transforms)),
                            FeatureArgs("x s64[]", ModeKey::kEval, 4));
    EXPECT_TRUE(input.ok()) << input.status();
    return input->source().prefetch;
  };
  EXPECT_EQ(prefetch(""), 0);
  EXPECT_EQ(prefetch("transform { prefetch {} }"), 0);
  EXPECT_EQ(prefetch("transform { prefetch { buffer_size: 9 } }"), 3);
  EXPECT_EQ(prefetch("transform { prefetch { buffer_size: 9223372036854775807 } }"), 1LL << 61);
  EXPECT_EQ(prefetch("transform { prefetch { buffer_size: 8 } } transform { batch {} } "
                     "transform { prefetch { buffer_size: 5 } } transform { prefetch {} }"),
            5);
}

// Rows of a step between "--".
std::string Steps(const std::string& transforms, int64_t batch_size, int64_t batches_per_step,
                  int64_t most) {
  InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kEval, batch_size);
  args.batches_per_step = batches_per_step;
  auto input = Open(
      TrainConfig(absl::StrCat("source { from_tensor_slices { feature { name: \"x\" int64 { value: "
                               "[1, 2, 3, 4, 5, 6, 7] } } } }",
                               transforms)),
      args);
  EXPECT_TRUE(input.ok()) << input.status();
  return absl::StrReplaceAll(input->Batches(most).value(),
                             {{"\n--\n", " | "}, {"x=", ""}, {"\n", " "}});
}

// The rows are those of one batch as large, but for what is dropped at the end of a pass.
TEST(InputFnTest, AStepMayBeOfSeveralBatches) {
  const std::string drop = "transform { batch { drop_remainder: true } }";
  EXPECT_EQ(Steps("", 4, 1, 9), "1 2 3 4 | 5 6 7 ");
  EXPECT_EQ(Steps("", 2, 2, 9), "1 2 3 4 | 5 6 7 ");
  EXPECT_EQ(Steps(drop, 4, 1, 9), "1 2 3 4 ");
  EXPECT_EQ(Steps(drop, 2, 2, 9), "1 2 3 4 | 5 6 ");
  const std::string repeated = drop + "transform { repeat {} }";
  EXPECT_EQ(Steps(repeated, 4, 1, 3), "1 2 3 4 | 1 2 3 4 | 1 2 3 4 ");
  EXPECT_EQ(Steps(repeated, 2, 2, 3), "1 2 3 4 | 5 6 1 2 | 3 4 5 6 ");
  EXPECT_EQ(Steps("transform { repeat {} }" + drop, 2, 2, 3), "1 2 3 4 | 5 6 7 1 | 2 3 4 5 ");
}

TEST(InputFnTest, ABatchSizeThatIsGivenIsThatOfThePipeline) {
  InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kEval, 2);
  args.batches_per_step = 8;
  EXPECT_EQ(ErrorOfInput(absl::StrCat(kNumbers, "transform { batch { batch_size: 16 } }"), args),
            "INVALID_ARGUMENT: run.textproto:3:21: batch: batch_size must be left out, or be that "
            "of the batch of 2 (eval_batch_size / 8): want 2, got 16");
  args.batches_per_step = 1;
  args.shard = {.num_shards = 8, .index = 7};
  EXPECT_EQ(ErrorOfInput(kNumbers, args), "OK");
}

TEST(InputFnTest, PrefetchIsInStepsOfSeveralBatches) {
  InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kEval, 4);
  args.batches_per_step = 8;
  const auto prefetch = [&](const std::string& transforms) {
    return Open(TrainConfig(absl::StrCat(kNumbers, transforms)), args)->source().prefetch;
  };
  EXPECT_EQ(prefetch("transform { prefetch { buffer_size: 33 } }"), 2);
  EXPECT_EQ(prefetch("transform { batch {} } transform { prefetch { buffer_size: 17 } }"), 3);
}

// The records of all shards, in the order in which 3 pipelines take them in turn.
std::vector<std::string> ShardTexts(const std::string& input, int64_t most) {
  std::vector<std::string> texts;
  for (int index = 0; index < 3; ++index) {
    InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kTrain, 2);
    args.shard = {.num_shards = 3, .index = index};
    auto opened = Open(TrainConfig(input), args);
    EXPECT_TRUE(opened.ok()) << opened.status();
    texts.push_back(absl::StrReplaceAll(opened->Batches(most).value(),
                                        {{"--\n", ""}, {"x=", ""}, {"\n", " "}}));
  }
  return texts;
}

TEST(InputFnTest, ShardsAreWhatTheTransformShardTakesFirst) {
  const std::string source =
      "source { from_tensor_slices { feature { name: \"x\" int64 { value: [0, 1, 2, 3, 4, 5, 6, 7] "
      "} } } }";
  EXPECT_EQ(ShardTexts(source, 2), (std::vector<std::string>{"0 3 6 0 ", "1 4 7 1 ", "2 5 2 5 "}));
  // Of the shard's elements, not of the source's.
  EXPECT_EQ(ShardTexts(source + "transform { skip { count: 1 } }", 2),
            (std::vector<std::string>{"3 6 3 6 ", "4 7 4 7 ", "5 5 5 5 "}));
}

TEST(InputFnTest, EachShardDrawsApartFromTheOthers) {
  const std::string same =
      "source { from_tensor_slices { feature { name: \"x\" int64 { value: [0, 0, 0, 1, 1, 1, 2, 2, "
      "2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7] } } } }";
  const std::vector<std::string> unshuffled = ShardTexts(same, 4);
  EXPECT_EQ(unshuffled, std::vector<std::string>(3, "0 1 2 3 4 5 6 7 "));
  const std::vector<std::string> shuffled =
      ShardTexts(same + "transform { shuffle { buffer_size: 8 } }", 4);
  EXPECT_EQ(std::set<std::string>(shuffled.begin(), shuffled.end()).size(), 3u);
}

TEST(InputFnTest, ShardsOfWhatIsReadOnceAreRefused) {
  InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kTrain, 2);
  args.shard = {.num_shards = 8, .index = 0};
  const std::string decode =
      "transform { decode_csv { column { name: \"x\" dtype: INT64 } } } transform { cache {} }";
  const std::string why =
      " can be read only once, and 8 pipelines, one a core, read the input "
      "(tpu_config.per_host_input_for_training); want a file, or one pipeline: PER_HOST_V1 with 8 "
      "cores";
  EXPECT_EQ(ErrorOfInput("source { text_line { file: \"-\" } }" + decode, args),
            "INVALID_ARGUMENT: run.textproto:2:10: standard input" + why);
  EXPECT_EQ(ErrorOfInput("source { text { file: \"-\" sequence_length: 2 } }",
                         {.mode = ModeKey::kTrain,
                          .batch_size = 2,
                          .shard = args.shard,
                          .features = ParseFeatures("text s32[2]")}),
            "INVALID_ARGUMENT: run.textproto:2:10: standard input" + why);
  const TempDir dir;
  const std::string path = dir.Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(
      ErrorOfInput(absl::StrCat("source { text_line { file: \"", path, "\" } }", decode), args),
      absl::StrCat("INVALID_ARGUMENT: run.textproto:2:22: ", path, why));
  args.shard = {.num_shards = 2, .index = 1, .fed = "host"};
  EXPECT_EQ(ErrorOfInput("source { text_line { file: \"-\" } }" + decode, args),
            "INVALID_ARGUMENT: run.textproto:2:10: standard input can be read only once, and 2 "
            "pipelines, one a host, read the input (tpu_config.per_host_input_for_training); want "
            "a file, or one pipeline: 8 cores");
  args.num_processes = 4;
  EXPECT_EQ(ErrorOfInput("source { text_line { file: \"-\" } }" + decode, args),
            "INVALID_ARGUMENT: run.textproto:2:10: standard input can be read only once, and 4 "
            "processes read the input; want a file, or one process");
}

TEST(InputFnTest, AShardWithoutElementsSaysSo) {
  InputFnArgs args = FeatureArgs("x s64[]", ModeKey::kTrain, 2);
  args.shard = {.num_shards = 8, .index = 6};
  auto input = Open(TrainConfig(absl::StrCat(kNumbers, "transform { repeat {} }")), args);
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->NextBatch().status().message(),
            "run.textproto:1:9: the input has no elements: its transforms leave none of "
            "from_tensor_slices 5 in shard 6 of 8, that of core 6");
  args = FeatureArgs("x s64[]", ModeKey::kEval, 2);
  args.shard = {.num_shards = 8, .index = 4};
  auto few = Open(
      TrainConfig(absl::StrCat(kNumbers, "transform { batch { drop_remainder: true } }")), args);
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_EQ(few->NextBatch().status().message(),
            "run.textproto:1:9: the input has 1 element, fewer than one batch of 2 "
            "(eval_batch_size / 8); lower it, or add transform { repeat {} } before batch");
}

TEST(InputValuesTest, AreTheTransformsOfRowsWithoutNamesOfFiles) {
  proto::RunConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(
transformation_func {
  name: "parse"
  transform { decode_csv { column { name: "x" } } }
  transform { cast { feature: "x" scale: 2 } }
}
train { input {
  source { text_line { file: "a.csv" skip_lines: 1 } }
  transform { apply { transformation_func: "parse" } }
  transform { cache {} } transform { shuffle { buffer_size: 9 } } transform { repeat {} }
  transform { take { count: 7 } } transform { skip { count: 7 } } transform { shard {} }
  transform { apply { transformation_func: "absent" } }
  transform { cast { feature: "x" offset: 3 } }
  transform { batch {} } transform { prefetch {} } transform {}
} })",
      &config));
  EXPECT_EQ(InputValues(config.train().input(), config.transformation_func()).ShortDebugString(),
            "source { text_line { } } transform { decode_csv { column { name: \"x\" } } } "
            "transform { cast { feature: \"x\" scale: 2 } } "
            "transform { cast { feature: \"x\" offset: 3 } }");
  EXPECT_EQ(InputValues(proto::Input(), {}).ShortDebugString(), "source { }");
}

TEST(InputFnTest, WhereNamesTheLastRow) {
  auto input = Open(TrainConfig(kNumbers), FeatureArgs("x s64[]"));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->WhereLast(), "the start of the input");
  ASSERT_TRUE(input->NextBatch().ok());
  EXPECT_EQ(input->WhereLast(), "element 1 of from_tensor_slices");
}

TEST(InputFnTest, AnInputFnCanBeCalledAgain) {
  const absl::StatusOr<InputFn> input_fn = InputFnOf(TrainConfig(kNumbers));
  ASSERT_TRUE(input_fn.ok()) << input_fn.status();
  for (int call = 0; call < 2; ++call) {
    OpenInput input((*input_fn)(FeatureArgs("x s64[]")).value(), 2);
    EXPECT_EQ(input.Batches().value(), "x=1\nx=2\n--\nx=3\nx=4\n--\nx=5\n");
  }
}

TEST(InputFnTest, AnEmptyInputIsAnErrorButNotToPredict) {
  const std::string none = "source { from_tensor_slices { feature { name: \"x\" int64 {} } } }";
  EXPECT_EQ(ErrorOfInput(none, FeatureArgs("x s64[]")),
            "DATA_LOSS: run.textproto:2:31: from_tensor_slices has no elements");
  auto input = Open(TrainConfig(none), FeatureArgs("x s64[]", ModeKey::kPredict));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->Batches().value(), "");
}

// The inputs of testdata/iris: what README promises of them.
TEST(InputFnTest, IrisTrainsOn120RowsAndEvaluatesOn30) {
  const std::string parse =
      "transform { decode_csv { column { name: \"SepalLength\" } column { name: \"SepalWidth\" } "
      "column { name: \"PetalLength\" } column { name: \"PetalWidth\" } "
      "column { name: \"Species\" dtype: INT32 } } } transform { cache {} }";
  const auto open = [&](const std::string& file) {
    return Open(
        TrainConfig(
            absl::StrCat("source { text_line { file: \"", file, "\" skip_lines: 1 } }", parse)),
        FeatureArgs("SepalLength f32[] PetalWidth f32[] label:Species s32[]", ModeKey::kEval, 120),
        "testdata/iris");
  };
  auto train = open("iris_training.csv");
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_EQ(train->source().examples_per_epoch, 120);
  auto test = open("iris_test.csv");
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ(test->source().examples_per_epoch, 30);
  const std::string rows = test->NextBatch().value();
  EXPECT_EQ(rows.substr(0, rows.find('\n')), "SepalLength=5 PetalWidth=0.2 Species=0");
  EXPECT_EQ(test->WhereLast(), "testdata/iris/iris_test.csv:31");
}

}  // namespace
}  // namespace tpurun
