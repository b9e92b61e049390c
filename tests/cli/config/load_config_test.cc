#include "cli/config/load_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "cli/config/print_config.h"
#include "cli/config/validate.h"
#include "google/protobuf/text_format.h"
#include "runtime/io/checkpoint_state.h"
#include "tests/scaling.h"

namespace tpurun {
namespace {

namespace fs = std::filesystem;

// A fresh folder with the given files.
class LoadConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  fs::path folder_;
};

// --FIELD=VALUE.
Edit FieldFlag(const std::string& field, const std::string& value) {
  return {.path = field, .value = value, .raw = true, .flag = "--" + field + "=" + value};
}

LoadedConfig Load(const LoadOptions& options) {
  absl::StatusOr<LoadedConfig> config = LoadSoundConfig(options);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : LoadedConfig{};
}

TEST_F(LoadConfigTest, WhatATrainingHasWrittenIsKnownByItsMarkOrItsName) {
  const std::string mark = std::string(kRunConfigMark) + "\n";
  const auto of_training = [](const std::string& path) {
    return Load({.config_path = path}).of_training;
  };
  EXPECT_FALSE(of_training(Write("mine.textproto", "use_tpu: true\n# Written by me.\n")));
  EXPECT_TRUE(of_training(Write("copy.textproto", mark + "use_tpu: true\n")));
  EXPECT_TRUE(of_training(Write("edited.textproto", "use_tpu: true\n" + mark)));
  const std::string old = Write("m/run_config.pbtxt", "use_tpu: true\n");
  EXPECT_TRUE(of_training(old));
  const fs::path link = folder_ / "link.textproto";
  fs::create_symlink(old, link);
  EXPECT_TRUE(of_training(link.string()));
}

TEST_F(LoadConfigTest, APipeIsReadWhereItIsNamedAndRefusedWhereItIsFound) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const absl::Status found = LoadSoundConfig({.config_path = pipe, .found = true}).status();
  EXPECT_TRUE(absl::IsNotFound(found)) << found;
  std::thread writer([&] { std::ofstream(pipe) << "train_batch_size: 24\n"; });
  EXPECT_EQ(Load({.config_path = pipe}).run.train_batch_size(), 24);
  writer.join();
}

std::vector<std::string> Mistakes(const LoadedConfig& config, const RequiredParts& required) {
  ConfigErrors errors;
  ValidateConfig(config, required, errors);
  return errors.Lines(config.locations);
}

std::string Error(const LoadOptions& options) {
  return std::string(LoadSoundConfig(options).status().message());
}

TEST_F(LoadConfigTest, RelativePathsBelongToTheFileThatNamesThem) {
  Write("models/m.textproto", "name: \"m\" layer { flatten {} }\n");
  const std::string run = Write("run.textproto", R"(
    model_dir: "out" model_file: "models/m.textproto"
    warm_start_from { ckpt_to_initialize_from: "old" }
    train { input {
      source { text_line { file: "a*.csv" file: "/abs/b.csv" file: "-" } }
      transform { lookup { feature: "f" vocabulary_file: "v.txt" } } } })");
  const LoadedConfig config = Load({.config_path = run});
  const std::string folder = folder_.string();
  EXPECT_EQ(config.run.model_dir(), folder + "/out");
  EXPECT_EQ(config.model_path, folder + "/models/m.textproto");
  EXPECT_EQ(config.model.name(), "m");
  EXPECT_EQ(config.run.warm_start_from().ckpt_to_initialize_from(), folder + "/old");
  const proto::TextLine& source = config.run.train().input().source().text_line();
  EXPECT_EQ(source.file(0), folder + "/a*.csv");
  EXPECT_EQ(source.file(1), "/abs/b.csv");
  EXPECT_EQ(source.file(2), "-");
  EXPECT_EQ(config.run.train().input().transform(0).lookup().vocabulary_file(), folder + "/v.txt");
  EXPECT_EQ(config.locations.Where("model.layer[0].flatten"), folder + "/models/m.textproto:1:19");
}

TEST_F(LoadConfigTest, PathsOfTheCommandLineBelongToTheWorkingDirectory) {
  const std::string model = Write("m.textproto", "name: \"m\"");
  const std::string run = Write("run.textproto", "model_dir: \"out\" model {}");
  const LoadedConfig config =
      Load({.config_path = run,
            .edits = {FieldFlag("model_file", model), FieldFlag("model_dir", "here"),
                      *ParseSet("train.input.source.text_line.file=a.csv")}});
  EXPECT_EQ(config.run.model_dir(), "here");
  EXPECT_EQ(config.run.train().input().source().text_line().file(0), "a.csv");
  EXPECT_EQ(config.model.name(), "m");
  EXPECT_EQ(config.locations.Where("model_dir"), "--model_dir=here");
  EXPECT_EQ(EffectiveConfig(config)->model_dir(), (fs::current_path() / "here").string());
}

TEST_F(LoadConfigTest, TheModelMayBeInline) {
  const std::string run = Write("run.textproto", "model {\n  name: \"m\"\n}\n");
  const LoadedConfig config = Load({.config_path = run});
  EXPECT_FALSE(config.run.has_model());
  EXPECT_EQ(config.model.name(), "m");
  EXPECT_EQ(config.model_path, run);
  EXPECT_EQ(config.locations.Where("model.name"), run + ":2:3");
}

TEST_F(LoadConfigTest, MistakesOfBothFilesAndTheCommandLineComeTogether) {
  const std::string model = Write("m.textproto", "nme: \"m\"\n");
  const std::string run = Write("run.textproto", "model_file: \"m.textproto\"\nuse_tpv: true\n");
  EXPECT_EQ(
      Error({.config_path = run, .edits = {*ParseSet("use_tpu=5"), *ParseSet("model.name.x=5")}}),
      model + ":1:1: unknown field \"nme\" in model, did you mean \"name\"?\n" + run +
          ":2:1: unknown field \"use_tpv\" in RunConfig, did you mean \"use_tpu\"?\n" +
          "--set use_tpu=5: use_tpu: got 5, want true or false\n"
          "--set model.name.x=5: model.name has no fields: got x after it, want a string in "
          "quotes");
}

TEST_F(LoadConfigTest, AFileThatDoesNotExistIsNotFound) {
  const std::string path = (folder_ / "none.textproto").string();
  const absl::Status status = LoadSoundConfig({.config_path = path}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "--config: cannot read " + path + ": No such file or directory");
}

TEST_F(LoadConfigTest, WhatCannotBeReadIsNotFound) {
  const std::string folder = folder_.string();
  for (const auto& [path, reason] : std::map<std::string, std::string>{
           {folder, "Is a directory"}, {"/proc/self/mem", "Input/output error"}}) {
    const absl::Status status = LoadSoundConfig({.config_path = path}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(status.message(), "--config: cannot read " + path + ": " + reason);
  }
}

TEST_F(LoadConfigTest, APipeIsRead) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "model_dir: \"/m\" model {}"; });
  EXPECT_EQ(Load({.config_path = pipe}).run.model_dir(), "/m");
  writer.join();
}

// The examples load, are valid for every verb they describe, and print as text that loads the same.
class ExampleTest : public testing::TestWithParam<const char*> {};

TEST_P(ExampleTest, LoadsAndPrintsAsTextThatLoadsTheSame) {
  const LoadedConfig config = Load({.config_path = GetParam()});
  EXPECT_THAT(Mistakes(config, {.train = true, .evaluate = true, .predict = true}),
              testing::IsEmpty());
  const std::string printed = *PrintConfig(config);
  const std::string copy = testing::TempDir() + "/effective.textproto";
  std::ofstream(copy) << printed;
  const LoadedConfig again = Load({.config_path = copy});
  EXPECT_EQ(again.model.DebugString(), config.model.DebugString());

  // Printing only adds what was default: the second text differs from the first in origins alone.
  const auto without_origins = [](std::string text) {
    std::string kept;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      const std::string line = text.substr(begin, end - begin);
      kept += line.substr(0, line.rfind("  # ")) + "\n";
      begin = end + 1;
    }
    return kept;
  };
  EXPECT_EQ(without_origins(*PrintConfig(again)), without_origins(printed));
  EXPECT_THAT(Mistakes(again, {.train = true, .evaluate = true, .predict = true}),
              testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Examples, ExampleTest,
                         testing::Values("testdata/iris/run.textproto",
                                         "testdata/mnist/run.textproto"));

TEST(PrintConfigTest, ShowsTheOriginOfEachValue) {
  const LoadedConfig config = Load({.config_path = "testdata/iris/run.textproto",
                                    .edits = {*ParseSet("model.layer.logits.dense.units=20")}});
  const std::string printed = *PrintConfig(config);
  for (const char* line :
       {"train_batch_size: 128  # testdata/iris/run.textproto:5\n",
        "tf_random_seed: 1  # default\n", "      units: 10  # testdata/iris/model.textproto:10\n",
        "      units: 20  # command line: --set "
        "model.layer.logits.dense.units=20\n"}) {
    EXPECT_NE(printed.find(line), std::string::npos) << line << "\n" << printed;
  }
}

TEST_F(LoadConfigTest, TheTimeToLoadAndPrintGrowsWithTheText) {
  ExpectNearLinear(2000, [&](int layers) {
    std::string model;
    for (int i = 0; i < layers; ++i) model += "layer { dense { units: 3 } }\n";
    Write("m.textproto", model);
    const LoadedConfig config =
        Load({.config_path = Write("run.textproto", "model_file: \"m.textproto\"")});
    EXPECT_EQ(config.model.layer_size(), layers);
    EXPECT_THAT(Mistakes(config, {.train = true}), testing::Not(testing::IsEmpty()));
    EXPECT_TRUE(PrintConfig(config).ok());
  });
}

}  // namespace
}  // namespace tpurun
