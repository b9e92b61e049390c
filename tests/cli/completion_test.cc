#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/verb_table.h"

namespace tpurun {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kIris[] = "--config=testdata/iris/run.textproto";

std::vector<std::string> Words(const std::vector<std::string>& words) {
  return Complete(words, Verbs());
}

TEST(CompletionTest, Verbs) {
  EXPECT_THAT(Words({""}), AllOf(Contains("train"), Contains("completion"), Contains("help")));
  EXPECT_THAT(Words({"ev"}), ElementsAre("evaluate"));
  EXPECT_THAT(Words({"none", ""}), IsEmpty());
  EXPECT_THAT(Words({}), IsEmpty());
}

TEST(CompletionTest, Flags) {
  EXPECT_THAT(Words({"train", "--max"}), ElementsAre("--max_steps="));
  EXPECT_THAT(Words({"train", "--"}), AllOf(Contains("--set"), Contains("--train_batch_size="),
                                            Contains("--worker_threads="), Contains("--help")));
  EXPECT_THAT(Words({"evaluate", "--wa"}), ElementsAre("--watch"));
  EXPECT_THAT(Words({"inspect", "--f"}), ElementsAre("--format=", "--feature="));
  EXPECT_THAT(Words({"inspect", "--config"}), ElementsAre("--config="));
  EXPECT_THAT(Words({"report", "--config"}), IsEmpty());
}

TEST(CompletionTest, ValuesOfFlags) {
  EXPECT_THAT(Words({"inspect", "--format="}), ElementsAre("--format=text", "--format=json"));
  EXPECT_THAT(Words({"inspect", "--format", "j"}), ElementsAre("json"));
  EXPECT_THAT(Words({"train", "--use_tpu=f"}), ElementsAre("--use_tpu=false"));
  EXPECT_THAT(Words({"train", "--config=testdata/iris/r"}), ElementsAre(kIris));
  EXPECT_THAT(Words({"train", "--config", "testdata/ir"}), ElementsAre("testdata/iris/"));
  // The data beside them are no configurations.
  EXPECT_THAT(Words({"train", "--config=testdata/iris/"}),
              ElementsAre("--config=testdata/iris/model.textproto", kIris));
  EXPECT_THAT(Words({"train", "--max_steps="}), IsEmpty());
}

TEST(CompletionTest, FirstWords) {
  EXPECT_THAT(Words({"convert", ""}),
              ElementsAre("idx", "cifar", "csv", "images", "imagenet", "text", "synthetic"));
  EXPECT_THAT(Words({"convert", "csv", "testdata/iris/iris_te"}),
              ElementsAre("testdata/iris/iris_test.csv"));
  EXPECT_THAT(Words({"completion", ""}), ElementsAre("bash", "zsh"));
  EXPECT_THAT(Words({"help", "den"}), ElementsAre("dense"));
  EXPECT_THAT(Words({"help", "exit"}), ElementsAre("exit_codes"));
  EXPECT_THAT(Words({"help", "tpu_o"}), ElementsAre("tpu_ops"));
  EXPECT_THAT(Words({"help", "dense", ""}), IsEmpty());
}

TEST(CompletionTest, PathsOfSet) {
  EXPECT_THAT(Words({"train", "--set", "train.ma"}), ElementsAre("train.max_steps="));
  EXPECT_THAT(Words({"train", "--set=tpu_config.num_s"}),
              ElementsAre("--set=tpu_config.num_shards="));
  EXPECT_THAT(Words({"train", "--set", "predict.k"}),
              ElementsAre("predict.keys+=", "predict.keys="));
  EXPECT_THAT(Words({"train", "--unset", "predict.k"}), ElementsAre("predict.keys"));
  EXPECT_THAT(Words({"train", "--set", "model.f"}),
              AllOf(Contains("model.feature."), Contains("model.frozen=")));
  EXPECT_THAT(Words({"train", "--set", "trein.m"}), IsEmpty());
}

TEST(CompletionTest, ElementsAreThoseOfTheConfiguration) {
  EXPECT_THAT(Words({"train", kIris, "--set", "model.layer.h"}),
              ElementsAre("model.layer.hidden_1.", "model.layer.hidden_2."));
  EXPECT_THAT(Words({"train", "--config", "testdata/iris/run.textproto", "--set",
                     "model.layer.hidden_1.dense.un"}),
              ElementsAre("model.layer.hidden_1.dense.units="));
  EXPECT_THAT(Words({"train", kIris, "--set", "train.input.transform.sh"}),
              ElementsAre("train.input.transform.shuffle."));
  EXPECT_THAT(Words({"train", kIris, "--set", "train.input.transform.shuffle.b"}),
              ElementsAre("train.input.transform.shuffle.buffer_size="));
  EXPECT_THAT(Words({"train", kIris, "--set", "evaluate."}), Contains("evaluate.0."));
  // Names that a path or a shell would take apart are left to their numbers.
  EXPECT_THAT(
      Words({"train", "--config=testdata/summary/names.textproto", "--set", "model.feature."}),
      ElementsAre("model.feature.0.", "model.feature.1.", "model.feature.2.",
                  "model.feature.plain."));
  // Without one, what an element has is known all the same.
  EXPECT_THAT(Words({"train", "--set", "model.layer.any.dense.un"}),
              ElementsAre("model.layer.any.dense.units="));
  EXPECT_THAT(Words({"train", "--config=none.textproto", "--set", "model.layer.h"}), IsEmpty());
}

TEST(CompletionTest, ValuesOfFields) {
  // Those that the rules leave.
  EXPECT_THAT(Words({"train", "--set", "tpu_config.eval_training_input_configuration="}),
              ElementsAre("tpu_config.eval_training_input_configuration=PER_HOST_V1",
                          "tpu_config.eval_training_input_configuration=SLICED"));
  EXPECT_THAT(Words({"train", "--set", "tpu_config.per_host_input_for_training=PER_H"}),
              ElementsAre("tpu_config.per_host_input_for_training=PER_HOST_V1",
                          "tpu_config.per_host_input_for_training=PER_HOST_V2"));
  EXPECT_THAT(Words({"train", kIris, "--set", "model.layer.hidden_1.dense.activation=T"}),
              ElementsAre("model.layer.hidden_1.dense.activation=TANH"));
  EXPECT_THAT(Words({"train", "--set", "train.input.transform.0.batch.drop_remainder="}),
              ElementsAre("train.input.transform.0.batch.drop_remainder=false",
                          "train.input.transform.0.batch.drop_remainder=true"));
  EXPECT_THAT(Words({"train", "--set", "train.input.source.text_line.file+=testdata/iris/iris_te"}),
              ElementsAre("train.input.source.text_line.file+=testdata/iris/iris_test.csv"));
  EXPECT_THAT(Words({"config", "--set", "model.feature.x.dtype="}),
              Not(Contains("model.feature.x.dtype=DT_INVALID")));
}

}  // namespace
}  // namespace tpurun
