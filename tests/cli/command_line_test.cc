#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Status Unused(const CommandLine&) { return absl::OkStatus(); }

const std::vector<Verb>& TestVerbs() {
  using enum Flag::Type;
  static const auto* const kVerbs = new std::vector<Verb>{
      {.name = "train",
       .doc = "Train the model",
       .example = "tpurun train --config=run.textproto",
       .flags = {{.name = "max_steps",
                  .type = kInt,
                  .value_name = "N",
                  .help = "until this step",
                  .sets = "train.max_steps",
                  .group = "length"},
                 {.name = "epochs",
                  .type = kDouble,
                  .value_name = "E",
                  .help = "passes",
                  .sets = "train.epochs",
                  .group = "length"},
                 {.name = "keys",
                  .type = kList,
                  .value_name = "A,B",
                  .help = "outputs",
                  .sets = "predict.keys"},
                 {.name = "watch", .type = kBool, .help = "go on"}},
       .takes_config = true,
       .runs = true,
       .run = Unused},
      {.name = "inspect",
       .doc = "Show a file",
       .arguments = "PATH",
       .example = "tpurun inspect model.ckpt-0",
       .min_arguments = 1,
       .max_arguments = 1,
       .run = Unused},
  };
  return *kVerbs;
}

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  return ParseCommandLine(arguments, TestVerbs());
}

std::string Error(const std::vector<std::string>& arguments) {
  const absl::StatusOr<CommandLine> command = Parse(arguments);
  EXPECT_FALSE(command.ok());
  EXPECT_EQ(command.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(command.status().message());
}

TEST(CommandLineTest, FlagsTakeEveryFormOfGflags) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"train", "--worker_threads=3", "--watch"},
           {"train", "--worker-threads=3", "--watch=true"},
           {"train", "--worker_threads", "3", "--watch=1"},
           {"train", "-worker_threads=3", "-watch"},
           {"train", "--worker_threads=9", "--nowatch", "--worker_threads=3", "--watch"}}) {
    const absl::StatusOr<CommandLine> command = Parse(arguments);
    ASSERT_TRUE(command.ok()) << command.status();
    EXPECT_EQ(command->GetInt("worker_threads"), 3);
    EXPECT_TRUE(command->GetBool("watch"));
  }
  EXPECT_FALSE(Parse({"train", "--nowatch"})->GetBool("watch", true));
  EXPECT_TRUE(Parse({"train"})->GetBool("watch", true));
}

TEST(CommandLineTest, EditsKeepTheirOrder) {
  const absl::StatusOr<CommandLine> command =
      Parse({"train", "--config=c", "--set", "train.max_steps=1", "--train-batch-size=64",
             "--nouse_tpu", "--unset=evaluate", "--max_steps=5", "--model", "m", "--keys=a,b"});
  ASSERT_TRUE(command.ok()) << command.status();
  const absl::StatusOr<LoadOptions> options = command->load_options();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->config_path, "c");
  std::vector<std::string> edits;
  for (const Edit& edit : options->edits) {
    edits.push_back(edit.path + "|" + edit.value + "|" + edit.flag);
  }
  EXPECT_THAT(edits, ElementsAre("train.max_steps|1|--set train.max_steps=1",
                                 "train_batch_size|64|--train_batch_size=64",
                                 "use_tpu|false|--use_tpu=false", "evaluate||--unset evaluate",
                                 "train.max_steps|5|--max_steps=5", "model_file|m|--model=m",
                                 "predict.keys|[\"a\",\"b\"]|--keys=a,b"));
}

TEST(CommandLineTest, ArgumentsAreCounted) {
  EXPECT_THAT(Parse({"inspect", "p"})->arguments(), ElementsAre("p"));
  EXPECT_THAT(Parse({"inspect", "--", "-p"})->arguments(), ElementsAre("-p"));
  EXPECT_EQ(Error({"inspect"}), "inspect needs PATH; see tpurun help inspect");
  EXPECT_EQ(Error({"inspect", "p", "q"}),
            "stray word \"q\" after inspect; see tpurun help inspect");
}

TEST(CommandLineTest, MistakesNameTheNearestName) {
  EXPECT_EQ(Error({"trainn"}), "unknown verb \"trainn\", did you mean \"train\"?");
  EXPECT_EQ(Error({"fly"}), "unknown verb \"fly\" (known: train, inspect)");
  EXPECT_EQ(Error({"--config=x"}), "got --config=x, want a verb first (known: train, inspect)");
  EXPECT_EQ(Error({"train", "--max-stepz=3"}),
            "unknown flag --max_stepz of train, did you mean --max_steps?; see tpurun help train");
  EXPECT_EQ(
      Error({"train", "--train_batch_sise=3"}),
      "unknown flag --train_batch_sise of train, did you mean --train_batch_size?; see tpurun "
      "help train");
  EXPECT_EQ(Error({"train", "--iterations_per_loop=3"}),
            "unknown flag --iterations_per_loop of train, want --set "
            "tpu_config.iterations_per_loop=VALUE");
  EXPECT_EQ(Error({"inspect", "p", "--config=x"}),
            "unknown flag --config of inspect; see tpurun help inspect");
  EXPECT_EQ(Error({"train", "config.textproto"}),
            "stray word \"config.textproto\" after train, want flags such as --config=FILE; see "
            "tpurun help train");
}

TEST(CommandLineTest, NumbersWithLeadingZerosAreDecimal) {
  for (const auto& [given, in_text_format] :
       std::vector<std::pair<std::string, std::string>>{{"--max_steps=010", "10"},
                                                        {"--max_steps=00", "0"},
                                                        {"--tf_random_seed=-08", "-8"},
                                                        {"--tf_random_seed=+9", "9"},
                                                        {"--epochs=010", "10"},
                                                        {"--epochs=00.5", "0.5"},
                                                        {"--epochs=1e3", "1e3"}}) {
    const absl::StatusOr<CommandLine> command = Parse({"train", "--config=c", given});
    ASSERT_TRUE(command.ok()) << command.status();
    const absl::StatusOr<LoadOptions> options = command->load_options();
    ASSERT_TRUE(options.ok()) << options.status();
    ASSERT_EQ(options->edits.size(), 1);
    EXPECT_EQ(options->edits[0].value, in_text_format);
    EXPECT_EQ(options->edits[0].flag, given);
  }
}

TEST(CommandLineTest, ValuesAreChecked) {
  EXPECT_EQ(Error({"train", "--max_steps=x"}), "--max_steps: got \"x\", want an integer");
  EXPECT_EQ(Error({"train", "--epochs=two"}), "--epochs: got \"two\", want a number");
  EXPECT_EQ(Error({"train", "--watch=perhaps"}), "--watch: got \"perhaps\", want true or false");
  EXPECT_EQ(Error({"train", "--train_batch_size=1.5"}),
            "--train_batch_size: got \"1.5\", want an integer");
  EXPECT_EQ(Error({"train", "--worker_threads=-1"}), "--worker_threads: got -1, want 0 to 1024");
  EXPECT_EQ(Error({"train", "--log_format=xml"}), "--log_format: got \"xml\", want text or json");
  EXPECT_EQ(Error({"train", "--max_steps=3", "--epochs=1"}),
            "--epochs is given together with --max_steps, want one of them");
  EXPECT_EQ(Error({"train", "--set"}), "--set needs a value: --set PATH=VALUE");
  EXPECT_EQ(Error({"train", "--max_steps"}), "--max_steps needs a value: --max_steps=N");
}

TEST(CommandLineTest, WithoutConfigThereIsNothingToLoad) {
  EXPECT_EQ(Parse({"train"})->load_options().status().message(),
            "train needs --config=FILE; see tpurun help train");
}

TEST(CommandLineTest, HelpWinsOverMissingArguments) {
  EXPECT_TRUE(Parse({"inspect", "--help"})->wants_help());
  EXPECT_TRUE(Parse({"train", "-h"})->wants_help());
}

TEST(HelpTextTest, ShowsTheVerbsFlagsAndExample) {
  const std::string text = HelpText(TestVerbs()[0]);
  for (const char* part : {"usage: tpurun train --config=FILE [flags]", "--max_steps=N",
                           "--worker_threads=N", "--minloglevel=N", "--train_batch_size",
                           "tpurun train --config=run.textproto", "--set PATH=VALUE"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(text.find("vmodule"), std::string::npos);
  EXPECT_THAT(HelpText(TestVerbs()), HasSubstr("inspect  Show a file"));
}

}  // namespace
}  // namespace tpurun
