#include "cli/config/edit.h"

#include <gtest/gtest.h>

#include <string>

#include "google/protobuf/text_format.h"
#include "proto/model_spec.pb.h"
#include "proto/run_config.pb.h"

namespace tpurun {
namespace {

using google::protobuf::TextFormat;

constexpr char kRun[] = R"(
  model_dir: "/tmp/m"
  use_tpu: true
  save_checkpoints_secs: 60
  train {
    max_steps: 10
    input {
      source { text_line { file: "a.csv" skip_lines: 1 } }
      transform { cache {} }
      transform { shuffle { buffer_size: 100 seed: 3 } }
      transform { take { count: 5 } }
      transform { take { count: 4 } }
    }
  }
  evaluate { name: "valid" steps: 3 }
  evaluate { name: "test" steps: 4 }
  predict { keys: "class_ids" keys: "logits" }
)";

constexpr char kModel[] = R"(
  feature { name: "x" shape: [28, 28, 1] }
  layer { name: "dnn/hidden_1" dense { units: 10 } }
  layer { name: "a.b" dense { units: 11 } }
  layer { flatten {} }
  optimizer { adagrad {} learning_rate { constant: 0.1 } }
)";

// The RunConfig above (or the ModelSpec, for its paths) after the edit, as text; or the error.
template <typename T>
std::string After(const absl::StatusOr<Edit>& edit, const char* before) {
  T message;
  EXPECT_TRUE(TextFormat::ParseFromString(before, &message));
  if (!edit.ok()) return std::string(edit.status().message());
  SourceLocations locations;
  const absl::Status status = ApplyEdit(*edit, &message, &locations);
  return status.ok() ? message.DebugString() : absl::StrCat(edit->flag, ": ", status.message());
}

std::string AfterSet(const std::string& text) {
  const absl::StatusOr<Edit> edit = ParseSet(text);
  return edit.ok() && IsModelEdit(*edit) ? After<proto::ModelSpec>(edit, kModel)
                                         : After<proto::RunConfig>(edit, kRun);
}

std::string AfterUnset(const std::string& text) {
  const absl::StatusOr<Edit> edit = ParseUnset(text);
  return edit.ok() && IsModelEdit(*edit) ? After<proto::ModelSpec>(edit, kModel)
                                         : After<proto::RunConfig>(edit, kRun);
}

// The original with one piece of its text replaced.
template <typename T>
std::string With(std::string text, const std::string& from, const std::string& to) {
  const size_t position = text.find(from);
  EXPECT_NE(position, std::string::npos) << from;
  T message;
  EXPECT_TRUE(TextFormat::ParseFromString(text.replace(position, from.size(), to), &message));
  return message.DebugString();
}
std::string RunWith(const std::string& from, const std::string& to) {
  return With<proto::RunConfig>(kRun, from, to);
}
std::string ModelWith(const std::string& from, const std::string& to) {
  return With<proto::ModelSpec>(kModel, from, to);
}

TEST(SetTest, ScalarsTakeTextFormat) {
  EXPECT_EQ(AfterSet("use_tpu=false"), RunWith("use_tpu: true", "use_tpu: false"));
  EXPECT_EQ(AfterSet("train_batch_size=0x10"), RunWith("use_tpu", "train_batch_size: 16 use_tpu"));
  EXPECT_EQ(AfterSet("tpu_config.num_shards = 8"),
            RunWith("use_tpu", "tpu_config { num_shards: 8 } use_tpu"));
}

TEST(SetTest, StringsAndEnumeratorsNeedNoQuotes) {
  EXPECT_EQ(AfterSet("model_dir=/tmp/x=y"), RunWith("/tmp/m", "/tmp/x=y"));
  EXPECT_EQ(AfterSet("model_dir='/tmp/x'"), RunWith("/tmp/m", "/tmp/x"));
  EXPECT_EQ(AfterSet("model_dir="), RunWith("/tmp/m", ""));
  EXPECT_EQ(AfterSet("tpu_config.iterations_per_loop=500"),
            RunWith("use_tpu", "tpu_config { iterations_per_loop: '500' } use_tpu"));
  EXPECT_EQ(AfterSet("model.layer.0.dense.activation=RELU"),
            ModelWith("units: 10", "units: 10 activation: RELU"));
  EXPECT_EQ(AfterSet("model.layer.0.dense.activation=\"RELU\""),
            ModelWith("units: 10", "units: 10 activation: RELU"));
}

TEST(SetTest, BlanksOfAStringAreItsOwn) {
  EXPECT_EQ(AfterSet("model_dir=/tmp/x "), RunWith("/tmp/m", "/tmp/x "));
  EXPECT_EQ(AfterSet("model_dir= /tmp/x"), RunWith("/tmp/m", " /tmp/x"));
  EXPECT_EQ(AfterSet("model_dir=\t"), RunWith("/tmp/m", "\\t"));
  EXPECT_EQ(AfterSet("model_dir= ' '"), RunWith("/tmp/m", " "));
  // Around the sign, and around the items of a list, they are none of the value's.
  EXPECT_EQ(AfterSet("model_dir = /tmp/x"), RunWith("/tmp/m", "/tmp/x"));
  EXPECT_EQ(AfterSet("predict.keys=[ a, b ]"),
            RunWith("keys: \"class_ids\" keys: \"logits\"", "keys: 'a' keys: 'b'"));
}

TEST(SetTest, ElementsAreChosenByNumberNameOrKind) {
  EXPECT_EQ(AfterSet("evaluate.1.steps=9"), RunWith("steps: 4", "steps: 9"));
  EXPECT_EQ(AfterSet("evaluate[1].steps=9"), RunWith("steps: 4", "steps: 9"));
  EXPECT_EQ(AfterSet("evaluate.test.steps=9"), RunWith("steps: 4", "steps: 9"));
  EXPECT_EQ(AfterSet("model.layer.dnn/hidden_1.dense.units=20"),
            ModelWith("units: 10", "units: 20"));
  EXPECT_EQ(AfterSet("model.layer[a.b].dense.units=20"), ModelWith("units: 11", "units: 20"));
  EXPECT_EQ(AfterSet("train.input.transform.shuffle.buffer_size=10"),
            RunWith("buffer_size: 100", "buffer_size: 10"));
  EXPECT_EQ(AfterSet("train.input.transform.1.shuffle.buffer_size=10"),
            RunWith("buffer_size: 100", "buffer_size: 10"));
  EXPECT_EQ(AfterSet("model.optimizer.adagrad.initial_accumulator_value=0.5"),
            ModelWith("adagrad {}", "adagrad { initial_accumulator_value: 0.5 }"));
}

TEST(SetTest, TheNumberOfTheOnlyElementMayBeLeftOut) {
  EXPECT_EQ(AfterSet("model.optimizer.learning_rate.constant=0.2"),
            ModelWith("constant: 0.1", "constant: 0.2"));
  EXPECT_EQ(AfterSet("model.optimizer.name=main"),
            ModelWith("adagrad {}", "adagrad {} name: 'main'"));
  EXPECT_EQ(AfterSet("model.feature.shape=[784]"), ModelWith("[28, 28, 1]", "[784]"));
  EXPECT_EQ(AfterUnset("model.optimizer.learning_rate"),
            ModelWith("learning_rate { constant: 0.1 }", ""));
  EXPECT_EQ(After<proto::RunConfig>(ParseSet("evaluate.input.source.text_line.skip_lines=2"),
                                    "evaluate { steps: 3 }"),
            With<proto::RunConfig>("evaluate { steps: 3 }", "steps: 3",
                                   "steps: 3 input { source { text_line { skip_lines: 2 } } }"));
  EXPECT_EQ(After<proto::RunConfig>(ParseSet("evaluate.steps=4"), "evaluate { name: 'steps' }"),
            "--set evaluate.steps=4: evaluate: got 4, want a message in braces: { ... }");
}

TEST(SetTest, TheNumberIsWantedOfSeveralElementsAndBeforeAnotherKind) {
  EXPECT_EQ(AfterSet("evaluate.steps=9"),
            "--set evaluate.steps=9: evaluate has no element \"steps\", want its number or name; "
            "elements: 0 (valid), 1 (test)");
  EXPECT_EQ(
      AfterSet("model.optimizer.adam.beta1=0.5"),
      "--set model.optimizer.adam.beta1=0.5: model.optimizer has no element \"adam\", want its "
      "number or name; elements: 0 (adagrad)");
  EXPECT_EQ(
      AfterSet("model.head.name=a"),
      "--set model.head.name=a: model.head has no element \"name\", want its number or name; it "
      "has none (+= appends one)");
  EXPECT_EQ(
      AfterSet("model.optimizer.rate=1"),
      "--set model.optimizer.rate=1: model.optimizer has no element \"rate\", want its number "
      "or name; elements: 0 (adagrad)");
}

TEST(SetTest, AKindThatTwoElementsHaveIsRefused) {
  EXPECT_EQ(AfterSet("train.input.transform.take.count=1"),
            "--set train.input.transform.take.count=1: train.input.transform has 2 elements take, "
            "want its number; elements: 0 (cache), 1 (shuffle), 2 (take), 3 (take)");
}

TEST(SetTest, BracesReplaceAMessage) {
  EXPECT_EQ(AfterSet("train.input.transform.shuffle={buffer_size: 7}"),
            RunWith("buffer_size: 100 seed: 3", "buffer_size: 7"));
  EXPECT_EQ(AfterSet("evaluate.0={name: 'a'}"), RunWith("name: \"valid\" steps: 3", "name: 'a'"));
}

TEST(SetTest, EqualsReplacesAListAndPlusEqualsAppends) {
  EXPECT_EQ(AfterSet("predict.keys=[a, 'b,c']"),
            RunWith("keys: \"class_ids\" keys: \"logits\"", "keys: 'a' keys: 'b,c'"));
  EXPECT_EQ(AfterSet("predict.keys=a"),
            RunWith("keys: \"class_ids\" keys: \"logits\"", "keys: 'a'"));
  EXPECT_EQ(AfterSet("predict.keys=[]"), RunWith("keys: \"class_ids\" keys: \"logits\"", ""));
  EXPECT_EQ(AfterSet("predict.keys+=a"), RunWith("keys: \"logits\"", "keys: \"logits\" keys: 'a'"));
  EXPECT_EQ(AfterSet("predict.keys+=[a,b]"),
            RunWith("keys: \"logits\"", "keys: \"logits\" keys: 'a' keys: 'b'"));
  EXPECT_EQ(AfterSet("predict.keys.1=a"), RunWith("\"logits\"", "'a'"));
  EXPECT_EQ(AfterSet("model.feature.x.shape=[784]"), ModelWith("[28, 28, 1]", "[784]"));
  EXPECT_EQ(
      AfterSet("model.layer+={name: 'z' flatten {}}"),
      ModelWith("layer { flatten {} }", "layer { flatten {} } layer { name: 'z' flatten {} }"));
}

TEST(SetTest, AMemberOfAOneofClearsTheOthers) {
  EXPECT_EQ(AfterSet("train.epochs=2"), RunWith("max_steps: 10", "epochs: 2"));
  EXPECT_EQ(AfterSet("save_checkpoints_steps=5"),
            RunWith("save_checkpoints_secs: 60", "save_checkpoints_steps: 5"));
  EXPECT_EQ(AfterSet("train.input.transform.1.prefetch.buffer_size=2"),
            RunWith("shuffle { buffer_size: 100 seed: 3 }", "prefetch { buffer_size: 2 }"));
}

// The error of the second edit after the first, or the RunConfig then as one line.
std::string AfterBoth(const std::string& first, const std::string& second,
                      const char* before = kRun) {
  proto::RunConfig run;
  EXPECT_TRUE(TextFormat::ParseFromString(before, &run));
  SourceLocations locations;
  for (const std::string& text : {first, second}) {
    const absl::StatusOr<Edit> edit = ParseSet(text);
    EXPECT_TRUE(edit.ok()) << text;
    const absl::Status status = ApplyEdit(*edit, &run, &locations);
    if (!status.ok()) return std::string(status.message());
  }
  return run.ShortDebugString();
}

TEST(SetTest, AFlagIsNotReplacedByAnother) {
  const std::string steps = "train_and_evaluate.steps_per_eval";
  const std::string seconds = "train_and_evaluate.throttle_secs";
  // 0 is not legal here: it does not mean off.
  EXPECT_EQ(AfterBoth(seconds + "=20", steps + "=0"),
            steps + " is given together with --set " + seconds + "=20, want one of them");
  // By the message around it.
  EXPECT_EQ(AfterBoth("train_and_evaluate={ steps_per_eval: 3 }", seconds + "=9"),
            seconds +
                " is given together with --set train_and_evaluate={ steps_per_eval: 3 }, "
                "want one of them");
  // By a part of it.
  const std::string lookup = "train.input.transform.0.lookup.";
  constexpr char kLookup[] = "train { input { transform { lookup { feature: 's' } } } }";
  EXPECT_EQ(AfterBoth(lookup + "vocabulary_list+=c", lookup + "vocabulary_file=v.txt", kLookup),
            "train.input.transform[0].lookup.vocabulary_file is given together with --set " +
                lookup + "vocabulary_list+=c, want one of them");
}

TEST(SetTest, AnEmptyListGivesNothing) {
  const std::string lookup = "train.input.transform.0.lookup.";
  constexpr char kList[] = "train { input { transform { lookup { vocabulary_list: 'a' } } } }";
  constexpr char kFile[] = "train { input { transform { lookup { vocabulary_file: 'v' } } } }";
  const std::string want = "train { input { transform { lookup { vocabulary_file: \"v\" } } } }";
  EXPECT_EQ(AfterBoth(lookup + "vocabulary_list=[]", lookup + "vocabulary_file=v", kList), want);
  EXPECT_EQ(AfterBoth(lookup + "vocabulary_list=[]", lookup + "feature=[]", kFile), want);
}

TEST(SetTest, AWholeModelCanBeGiven) {
  EXPECT_EQ(AfterSet("model={name: \"n\"}"), "name: \"n\"\n");
}

TEST(SetTest, MalformedPathsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"use_tpu", "want"},
      {"=3", "want"},
      {"+=3", "want"},
      {"a..b=3", "want names joined by single dots"},
      {"train.=3", "want a name after the last dot"},
      {"evaluate[0.steps=3", "want PATH=VALUE"}};
  for (const auto& [text, want] : cases) {
    EXPECT_NE(AfterSet(text).find(want), std::string::npos) << text << "\n" << AfterSet(text);
  }
}

TEST(SetTest, AnErrorLeavesTheConfigurationAsItWas) {
  proto::RunConfig run;
  ASSERT_TRUE(TextFormat::ParseFromString(kRun, &run));
  const std::string before = run.DebugString();
  SourceLocations locations;
  EXPECT_FALSE(ApplyEdit(*ParseSet("tpu_config.num_shards=x"), &run, &locations).ok());
  EXPECT_EQ(run.DebugString(), before);
}

TEST(SetTest, SeveralEditsCannotNestWhatOneCannot) {
  proto::ModelSpec model;
  SourceLocations locations;
  std::string path = "model.layer";
  std::string error;
  for (int level = 0; level < 100 && error.empty(); ++level) {
    error =
        std::string(ApplyEdit(*ParseSet(path + "+={sequence{}}"), &model, &locations).message());
    if (error.empty()) path += ".0.sequence.layer";
  }
  EXPECT_EQ(error, "nested deeper than 100 messages");
}

TEST(UnsetTest, ClearsAFieldAListOrAnElement) {
  EXPECT_EQ(AfterUnset("train.max_steps"), RunWith("max_steps: 10", ""));
  EXPECT_EQ(AfterUnset("predict.keys"), RunWith("keys: \"class_ids\" keys: \"logits\"", ""));
  EXPECT_EQ(AfterUnset("predict.keys.0"), RunWith("keys: \"class_ids\"", ""));
  EXPECT_EQ(AfterUnset("evaluate.valid"), RunWith("evaluate { name: \"valid\" steps: 3 }", ""));
  EXPECT_EQ(AfterUnset("train.input.transform.1"),
            RunWith("transform { shuffle { buffer_size: 100 seed: 3 } }", ""));
  EXPECT_EQ(AfterUnset("train.input.transform.shuffle"), AfterUnset("train.input.transform.1"));
  EXPECT_EQ(AfterUnset("train.input.transform.shuffle.seed"), RunWith(" seed: 3", ""));
}

TEST(EditTest, TheFlagIsTheOriginOfWhatItSet) {
  proto::RunConfig run;
  ASSERT_TRUE(TextFormat::ParseFromString(kRun, &run));
  SourceLocations locations;
  locations.Record("train.max_steps", {.file = "f", .line = 1, .column = 2});
  locations.Record("predict.keys[1]", {.file = "f", .line = 2, .column = 3});
  ASSERT_TRUE(ApplyEdit(*ParseSet("train.epochs=2"), &run, &locations).ok());
  EXPECT_EQ(locations.Where("train.epochs"), "--set train.epochs=2");
  EXPECT_EQ(locations.Find("train.max_steps"), nullptr);
  ASSERT_TRUE(ApplyEdit(*ParseSet("predict.keys+=a"), &run, &locations).ok());
  EXPECT_EQ(locations.Where("predict.keys[1]"), "f:2:3");
  EXPECT_EQ(locations.Where("predict.keys[2]"), "--set predict.keys+=a");
  ASSERT_TRUE(ApplyEdit(*ParseSet("predict.keys.1=b"), &run, &locations).ok());
  EXPECT_EQ(locations.Where("predict.keys[1]"), "--set predict.keys.1=b");
  ASSERT_TRUE(ApplyEdit(*ParseUnset("predict.keys.0"), &run, &locations).ok());
  EXPECT_EQ(locations.Where("predict.keys[0]"), "--set predict.keys.1=b");
  EXPECT_EQ(locations.Where("predict.keys[1]"), "--set predict.keys+=a");
  ASSERT_TRUE(ApplyEdit(*ParseSet("train.input.transform.shuffle.seed=1"), &run, &locations).ok());
  EXPECT_EQ(locations.Where("train.input.transform[1].shuffle.seed"),
            "--set train.input.transform.shuffle.seed=1");
}

}  // namespace
}  // namespace tpurun
