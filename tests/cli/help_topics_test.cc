#include "cli/help_topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/config/validate.h"
#include "cli/config_docs.h"
#include "cli/exit_codes.h"
#include "cli/tpu_errors.h"
#include "cli/tpu_ops_page.h"
#include "proto/field_rules.h"
#include "proto/run_config.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/tpu/tensorflow_ops.h"

namespace tpurun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Page(const std::string& name) {
  const std::optional<std::string> page = HelpPage(name);
  EXPECT_TRUE(page.has_value()) << "no page " << name;
  return page.value_or("");
}

// What stands below the first line that begins so, up to the next entry.
std::string Entry(const std::string& page, const std::string& name) {
  const size_t begin = absl::StrCat("\n", page).find(absl::StrCat("\n  ", name, ": "));
  if (begin == std::string::npos) return absl::StrCat("no entry ", name, " in\n", page);
  size_t end = page.find("\n  ", begin);
  while (end != std::string::npos && page.compare(end, 7, "\n      ") == 0) {
    end = page.find("\n  ", end + 1);
  }
  return page.substr(begin, end == std::string::npos ? end : end - begin);
}

// All of tpurun's own protos: those whose package is the RunConfig's.
TEST(HelpTopicsTest, EveryFieldOfEveryMessageSaysWhatItMeans) {
  int fields = 0;
  for (const google::protobuf::Descriptor* const message : ConfigMessages()) {
    EXPECT_EQ(message->file()->package(), "tpurun.proto");
    EXPECT_NE(CommentOf(*message), "") << "write a comment before message " << message->full_name();
    for (int i = 0; i < message->field_count(); ++i, ++fields) {
      const google::protobuf::FieldDescriptor& field = *message->field(i);
      const std::string comment = CommentOf(field);
      EXPECT_NE(comment, "") << "write a comment before " << field.full_name();
      EXPECT_THAT(comment, Not(HasSubstr("\n"))) << field.full_name();
      // The first words, as the rest may stand on another line.
      const std::string words = comment.substr(0, std::min<size_t>(comment.size(), 20));
      EXPECT_THAT(Page(ShortName(field)), HasSubstr(words)) << field.full_name();
      EXPECT_THAT(Page(field.name()), HasSubstr(words)) << field.full_name();
    }
  }
  EXPECT_GE(fields, 300);
  for (const google::protobuf::EnumDescriptor* const type : ConfigEnums()) {
    EXPECT_NE(CommentOf(*type), "") << "write a comment before enum " << type->full_name();
  }
}

TEST(HelpTopicsTest, NoMessageOfTheFilesIsLeftOut) {
  std::set<std::string> met;
  for (const google::protobuf::Descriptor* const message : ConfigMessages()) {
    met.insert(message->full_name());
  }
  for (const google::protobuf::FileDescriptor* const file :
       {proto::RunConfig::descriptor()->file(), proto::ModelSpec::descriptor()->file(),
        proto::Input::descriptor()->file()}) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      const google::protobuf::Descriptor& message = *file->message_type(i);
      EXPECT_EQ(met.count(message.full_name()), 1u) << message.full_name();
      for (int nested = 0; nested < message.nested_type_count(); ++nested) {
        EXPECT_EQ(met.count(message.nested_type(nested)->full_name()), 1u)
            << message.nested_type(nested)->full_name();
      }
    }
  }
}

TEST(HelpTopicsTest, ALayerShowsTypesDefaultsAndComments) {
  const std::string page = Page("dense");
  EXPECT_THAT(page, HasSubstr("tf.layers.dense. Variables kernel [in, units], bias [units].\n"));
  EXPECT_EQ(Entry(page, "units"), "  units: int64\n      Width of the result. Must be given, > 0.");
  EXPECT_THAT(Entry(page, "activation"),
              AllOf(HasSubstr("  activation: Activation = LINEAR\n"),
                    HasSubstr("One of LINEAR, RELU, TANH, GELU, SIGMOID, SOFTMAX, SOFTPLUS, ELU, "
                              "GELU_TANH, RELU6,\n"
                              "      LEAKY_RELU, SELU, SWISH, MISH, SOFTSIGN.")));
  EXPECT_THAT(Entry(page, "use_bias"), HasSubstr("use_bias: bool = true\n"));
  EXPECT_THAT(Entry(page, "kernel_from"), HasSubstr("  kernel_from: string\n"));
}

TEST(HelpTopicsTest, TopicsListEveryKind) {
  for (const HelpTopic& topic : HelpTopics()) {
    const std::string page = Page(topic.name);
    EXPECT_NE(page, "") << topic.name;
    if (topic.message == nullptr) continue;
    const auto* const kinds = topic.message->FindOneofByName("kind");
    ASSERT_NE(kinds, nullptr) << topic.name;
    for (int i = 0; i < kinds->field_count(); ++i) {
      EXPECT_THAT(page, HasSubstr(absl::StrCat("\n  ", kinds->field(i)->name(), " ")));
    }
  }
  EXPECT_THAT(Page("optimizers"),
              testing::ContainsRegex("\n  ftrl +Follow[^\n]*not supported yet"));
  EXPECT_THAT(Page("optimizers"), HasSubstr("\n  adagrad"));
}

TEST(HelpTopicsTest, ANameIsFoundWhereverItStands) {
  EXPECT_THAT(Page("RunConfig"), HasSubstr("\n  model_dir: string\n"));
  EXPECT_THAT(Page("train.input"), HasSubstr("\n  source: Source\n"));
  EXPECT_THAT(Page("model.layer.logits.dense.units"), HasSubstr("  units: int64\n"));
  EXPECT_THAT(Page("evaluate.0.steps"), HasSubstr("Batches. Default: one exact epoch"));
  EXPECT_THAT(Page("train.input.transform[3].shuffle.buffer_size"),
              HasSubstr("a field of Shuffle\n"));
  EXPECT_THAT(Page("TPUConfig.PartitionDims"), HasSubstr("  dim: repeated int64"));
  EXPECT_THAT(Page("SAME"), HasSubstr("Conv2d.Padding\n"));
  EXPECT_THAT(Page("sequence"), AllOf(HasSubstr("a field of Layer\n"), HasSubstr("of Head\n")));
  EXPECT_THAT(Page("buffer_size"),
              AllOf(HasSubstr("a field of Tfrecord"), HasSubstr("of Shuffle")));
  for (const char* none : {"", "denze", "train.inputs", "model.layer.logits.dense.units.x", "."}) {
    EXPECT_EQ(HelpPage(none), std::nullopt) << none;
  }
}

TEST(HelpTopicsTest, NamesHavePages) {
  for (const std::string& name : HelpNames()) EXPECT_NE(Page(name), "") << name;
}

TEST(HelpTopicsTest, LinesFitATerminal) {
  for (const std::string& name : HelpNames()) {
    if (name == "fields") continue;
    for (absl::string_view line : absl::StrSplit(Page(name), '\n')) {
      EXPECT_LE(line.size(), 110u) << name << ": " << line;
    }
  }
}

TEST(HelpTopicsTest, FieldsHasEveryPathOnce) {
  const std::string page = Page("fields");
  std::set<std::string> paths;
  for (const ConfigPath& path : ConfigPaths()) {
    EXPECT_TRUE(paths.insert(path.path).second) << path.path;
    EXPECT_EQ(FindByPath(path.path), path.field) << path.path;
    EXPECT_THAT(page, HasSubstr(absl::StrCat("\n", path.path, ": ")));
    if (!path.same_as.empty()) {
      EXPECT_NE(FindByPath(path.same_as), nullptr) << path.same_as;
    }
  }
  EXPECT_THAT(page, HasSubstr("\ntrain.input.transform.N.shuffle.buffer_size: int64\n"));
  EXPECT_THAT(page, HasSubstr("\nevaluate.N.input: Input, as train.input\n"));
  EXPECT_THAT(page, HasSubstr("\nmodel.layer.N.dense.units: int64\n"));
  EXPECT_THAT(page, HasSubstr("\npredict.generate.num_generate: int64 = 100\n"));
}

// What the models and the inputs read is not refused, and what they do not read is.
TEST(WhyRefusedTest, FollowsFromTheRules) {
  const auto field = [](const std::string& path) -> const google::protobuf::FieldDescriptor& {
    const auto* const found = FindByPath(path);
    EXPECT_NE(found, nullptr) << path;
    return *found;
  };
  const auto why = [&](const std::string& path, const google::protobuf::FieldDescriptor* kind) {
    return WhyRefused(field(path), kind, /*with_reason=*/false, *proto::RunConfig::descriptor());
  };
  for (const char* path : {"model_dir",
                           "model",
                           "model_file",
                           "tpu_config.iterations_per_loop",
                           "train.max_steps",
                           "train.input.transform.shuffle.seed",
                           "train.input.source.tfrecord.file",
                           "train.input.source.text.shift",
                           "model.layer.dense.kernel_initializer.truncated_normal.stddev",
                           "model.frozen",
                           "model.layer.sequence.repeat",
                           "model.layer.residual.shortcut",
                           "model.head.regression.label",
                           "model.optimizer.cross_shard.reduction",
                           "model.optimizer.cross_shard.group_assignment",
                           "model.layer.reuse",
                           "model.summary.image.tensor",
                           "predict.keys",
                           "eval_on_tpu",
                           "train_and_evaluate.exporter.best.exports_to_keep",
                           "model.optimizer.learning_rate.linear_warmup.warmup_steps",
                           "warm_start_from",
                           "model.loss.weight",
                           "model.regularization.l2.scale",
                           "model.moving_average.decay",
                           "model.eval_metric.mean.values",
                           "model.eval_metric.confusion_matrix.num_classes",
                           "transformation_func.name"}) {
    EXPECT_EQ(why(path, nullptr), "") << path;
  }
  for (const char* path : {"protocol", "tpu_config.tpu_job_name", "model.optimizer.ftrl"}) {
    EXPECT_NE(why(path, nullptr), "") << path;
  }
  const google::protobuf::FieldDescriptor& adam = field("model.optimizer.adam");
  EXPECT_EQ(why("model.optimizer.adam.beta1", &adam), "");
  EXPECT_EQ(why("model.optimizer.adam.weight_decay_rate", &adam), "only of adamw");
}

// Three words: what may come, what never will, what is of other kinds.
TEST(HelpTopicsTest, SaysWhyAFieldIsRefused) {
  const std::string fields = Page("fields");
  for (const char* line :
       {"\nmodel.optimizer.N.ftrl: Ftrl  (not supported yet)\n",
        "\nprotocol: string = \"grpc\"  (never: no servers talk to each other)\n",
        "\nexperimental_max_worker_delay_secs: int64 = 0  (never: mpirun or srun "
        "starts all processes at once)\n",
        "\ntpu_config.tpu_job_name: string  (never: the TPU is emulated where tpurun "
        "runs, it is no job of a cluster)\n",
        "\ntpu_config.input_partition_dims.N.dim: repeated int64  (never: model parallelism is not "
        "emulated: each core is a replica of its own)\n",
        "\ntpu_config.experimental_allow_per_host_v2_parallel_get_next: bool = false  (never: with "
        "it "
        "the machine's speed decides which core gets which rows, and a run here repeats to the "
        "last "
        "bit)\n",
        "\nmodel.eval_metric.N.accuracy.k: int32 = 1  (only of in_top_k)\n",
        "\nmodel.eval_metric.N.accuracy.labels: string\n"}) {
    EXPECT_THAT(fields, HasSubstr(line));
  }
  EXPECT_THAT(Entry(Page("auc"), "k"), HasSubstr("  k: int32 = 1  (only of in_top_k)\n"));
  EXPECT_THAT(Page("in_top_k"), HasSubstr("  k: int32 = 1\n"));
  EXPECT_THAT(Page("mean_squared_error"),
              HasSubstr("  logits: string  (not of mean_squared_error)\n"));
  EXPECT_THAT(Page("adam"), HasSubstr("  weight_decay_rate: float = 0  (only of adamw)\n"));
  EXPECT_THAT(Page("classification"), HasSubstr("  label_vocabulary: repeated string\n"));
  EXPECT_THAT(Page("TPUConfig"), HasSubstr("  tpu_job_name: string  (never)\n"));
  EXPECT_THAT(Entry(Page("TPUConfig"), "num_cores_per_replica"), HasSubstr("Takes 1: model"));
}

TEST(ExitCodesTest, HasEveryCodeOfAStatusOnce) {
  std::set<int> codes;
  int last = -1;
  for (const ExitCodeDoc& doc : ExitCodes()) {
    EXPECT_GT(doc.code, last);
    last = doc.code;
    codes.insert(doc.code);
    EXPECT_THAT(Page("exit_codes"), HasSubstr(absl::StrCat(doc.code, "  ")));
  }
  for (int code = 0; code <= 16; ++code) {
    const int exit_code = ExitCode(absl::Status(static_cast<absl::StatusCode>(code), "x"));
    EXPECT_EQ(codes.count(exit_code), 1u) << exit_code;
  }
  for (const int of_signal : {129, 130, 131, 138, 140, 143, 152})
    EXPECT_EQ(codes.count(of_signal), 1u) << of_signal;
}

TEST(TpuErrorsTest, HasEveryErrorWithItsExitCode) {
  std::set<std::string> codes;
  for (const ExitCodeDoc& doc : ExitCodes()) codes.insert(absl::StrCat(doc.code));
  int number = 0;
  for (const TpuErrorDoc& error : TpuErrors()) {
    EXPECT_EQ(error.name, absl::StrCat("E", ++number));
    const std::string code = error.code;
    EXPECT_TRUE(code.empty() || codes.count(code) == 1) << error.name;
    EXPECT_THAT(Page("tpu_errors"),
                HasSubstr(absl::StrFormat("\n%-5s%-4s", error.name, code.empty() ? "-" : code)));
  }
  EXPECT_EQ(number, 28);
  const std::string page = absl::StrReplaceAll(Page("tpu_errors"), {{"\n         ", " "}});
  EXPECT_THAT(page,
              HasSubstr("\nE9   3   an op that a TPU does not have: every one is named, with what "
                        "comes near; one that only tpurun does not have is a mistake of the "
                        "configuration (2)\n"));
  EXPECT_THAT(
      page,
      HasSubstr("\nE18  4   a program larger than memory: this machine's where it runs, a TPU "
                "core's where tpurun check forecasts it; what does not fit is named\n"));
}

TEST(HelpTopicsTest, EachOpOfATpuIsShownWithWhatItIsHere) {
  const std::string page = Page("tpu_ops");
  for (const TpuOp& op : TpuOps()) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("\n", ToAbsl(op.name), "  ("))) << op.name;
    EXPECT_NE(InTpurun(op.name), "") << op.name;
  }
  EXPECT_THAT(page, HasSubstr("\nConcatV2  (yes)\n      T=any Tidx=int32; constant: axis; here: "
                              "op concat\n"));
  EXPECT_THAT(page, HasSubstr("\nAssert  (ignored)\n"));
  EXPECT_THAT(page, HasSubstr("\nPrint  (dropped)\n"));
  EXPECT_THAT(page, HasSubstr("\ntf.svd  (no)\n      not expressible here\n"));
  EXPECT_THAT(page, HasSubstr("\ntf.acos  (no, but in later runtimes)\n"));
  EXPECT_EQ(InTpurun("Conv2D"), "op conv2d");
  EXPECT_EQ(InTpurun("NoSuchOp"), "");
}

}  // namespace
}  // namespace tpurun
