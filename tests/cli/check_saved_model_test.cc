// What `check --saved_model` says of the graphs of testdata/check_saved_model/*.txt in text format,
// as a table, then as JSON, then the error. tests/interop compares it with TensorFlow's own graphs.
//   bazel run //tests/cli:check_saved_model_test -- --update_goldens
#include "cli/check_saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/verb_table.h"
#include "google/protobuf/text_format.h"
#include "proto/saved_model.pb.h"
#include "runtime/base/status.h"
#include "tests/golden.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class CheckSavedModelTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = dir_.Path(name);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  // With the folder's name left out.
  std::string TextOf(const std::string& path, bool json) {
    std::ostringstream out;
    int64_t warnings = 0;
    const absl::Status status = CheckModelFile(path, json, out, warnings);
    code_ = ExitCode(status);
    if (!status.ok()) out << code_ << ": " << status.message() << "\n";
    return absl::StrReplaceAll(out.str(), {{absl::StrCat(dir_.path(), "/"), ""}});
  }
  int CodeOf(const std::string& path, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"check", absl::StrCat("--saved_model=", path)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const absl::StatusOr<CommandLine> command = ParseCommandLine(arguments, Verbs());
    EXPECT_TRUE(command.ok()) << command.status();
    const absl::Status status = CheckSavedModel(*command);
    message_ = std::string(status.message());
    return ExitCode(status);
  }

  const TempDir dir_;
  int code_ = 0;         // of the last TextOf
  std::string message_;  // of the last CodeOf
};

bool IsSavedModel(const std::string& text) { return text.find("meta_graphs") != std::string::npos; }

TEST_F(CheckSavedModelTest, GivesTheGoldenText) {
  const std::vector<std::string> files = TextFiles("testdata/check_saved_model");
  EXPECT_GE(files.size(), 14u);
  for (const std::string& file : files) {
    const std::string text = GoldenInput(file);
    const std::string path = Write(IsSavedModel(text) ? "saved_model.pbtxt" : "graph.pbtxt", text);
    const std::string table = TextOf(path, false);
    const bool damaged = code_ == 65;
    ExpectGolden(file, damaged ? table : absl::StrCat(table, TextOf(path, true)));
  }
}

// The same answer for the same message in the binary format, in a folder too.
TEST_F(CheckSavedModelTest, ReadsEveryForm) {
  const std::string text = GoldenInput("testdata/check_saved_model/signatures.txt");
  tensorflow::SavedModel model;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model));
  const auto without_first_line = [&](const std::string& path) {
    const std::string all = TextOf(path, false);
    return absl::StrReplaceAll(
        all.substr(all.find('\n')),
        {{"saved_model.pbtxt", "F"}, {"saved_model.pb", "F"}, {"other.pb", "F"}});
  };
  const std::string want = without_first_line(Write("saved_model.pbtxt", text));
  EXPECT_THAT(want, HasSubstr("refused ops: "));
  EXPECT_EQ(without_first_line(dir_.path()), want);
  std::filesystem::remove(dir_.Path("saved_model.pbtxt"));
  EXPECT_EQ(without_first_line(Write("saved_model.pb", model.SerializeAsString())), want);
  EXPECT_EQ(without_first_line(dir_.path()), want);
  EXPECT_EQ(without_first_line(Write("other.pb", model.SerializeAsString())), want);

  const std::string meta = Write("model.ckpt-7.meta", model.meta_graphs(0).SerializeAsString());
  EXPECT_THAT(TextOf(meta, true), HasSubstr("\"format\":\"meta_graph_def\""));
  EXPECT_EQ(code_, 3);
  const std::string graph = Write("graph.pb", model.meta_graphs(0).graph_def().SerializeAsString());
  EXPECT_THAT(TextOf(graph, true), HasSubstr("\"format\":\"graph_def\""));
  EXPECT_EQ(code_, 3);
}

constexpr char kLegal[] = R"(node { name: "x" op: "NoOp" })";
constexpr char kWarned[] = R"(node { name: "x" op: "Assert" })";

TEST_F(CheckSavedModelTest, EndsWithTheCodeOfWhatItFinds) {
  const std::string legal = Write("legal.pbtxt", kLegal);
  const std::string warned = Write("warned.pbtxt", kWarned);
  const std::string refused = Write("refused.pbtxt", R"(node { name: "x" op: "Unique" })");
  EXPECT_EQ(CodeOf(legal, {"--strict"}), 0);
  EXPECT_EQ(CodeOf(warned, {}), 0);
  EXPECT_EQ(CodeOf(warned, {"--strict"}), 5);
  EXPECT_EQ(CodeOf(refused, {}), 3);
  EXPECT_EQ(CodeOf(refused, {"--strict", "--format=json"}), 3);
  EXPECT_THAT(message_, HasSubstr("Detected unsupported operations when trying to compile graph"));
  EXPECT_EQ(CodeOf(dir_.Path("nothing.pb"), {}), 66);
  EXPECT_EQ(CodeOf(dir_.path(), {}), 66);
  EXPECT_THAT(message_, HasSubstr("neither saved_model.pb nor saved_model.pbtxt"));
}

TEST_F(CheckSavedModelTest, TakesNoConfiguration) {
  const std::string legal = Write("legal.pbtxt", kLegal);
  for (const char* const flag :
       {"--accelerator_type=v3-8", "--steps=5", "--numerics", "--config=run.textproto",
        "--train_batch_size=8", "--dump_dir=dump"}) {
    EXPECT_EQ(CodeOf(legal, {flag}), 2) << flag;
    EXPECT_THAT(message_, HasSubstr("--saved_model")) << flag;
  }
}

// A damaged file does no more than change the answer.
TEST_F(CheckSavedModelTest, DamagedFilesEndInAStatus) {
  tensorflow::SavedModel model;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      GoldenInput("testdata/check_saved_model/signatures.txt"), &model));
  const std::string graph = model.meta_graphs(0).graph_def().SerializeAsString();
  const std::string text = GoldenInput("testdata/check_saved_model/loop.txt");
  const std::vector<std::pair<std::string, std::string>> files = {
      {"saved_model.pb", model.SerializeAsString()}, {"graph.pb", graph}, {"graph.pbtxt", text}};
  for (const auto& [name, bytes] : files) {
    for (size_t byte = 0; byte < bytes.size(); byte += 7) {
      std::string flipped = bytes;
      flipped[byte] ^= 1 << (byte % 8);
      for (const std::string& damaged : {flipped, bytes.substr(0, byte)}) {
        TextOf(Write(name, damaged), byte % 2 == 0);
        EXPECT_THAT(code_, AnyOf(0, 3, 65)) << name << " at byte " << byte;
      }
    }
  }
}

std::string Nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += "attr { key: \"f\" value { func { ";
  for (int i = 0; i < depth; ++i) text += "} } } ";
  return absl::StrCat("node { name: \"x\" op: \"NoOp\" ", text, "}");
}

TEST_F(CheckSavedModelTest, LargeAndDeepGraphsTakeTimeInProportion) {
  EXPECT_THAT(TextOf(Write("deep.pbtxt", Nested(100000)), false), HasSubstr("65: deep.pbtxt"));

  // A chain of 50,000 nodes, and as many calls of one function with as many arguments and results.
  constexpr int kNodes = 50000;
  tensorflow::GraphDef graph;
  tensorflow::FunctionDef& function = *graph.mutable_library()->add_function();
  function.mutable_signature()->set_name("f");
  for (int i = 0; i < kNodes; ++i) {
    tensorflow::NodeDef& node = *graph.add_node();
    node.set_name(absl::StrCat("n", i));
    node.set_op("Identity");
    if (i > 0) node.add_input(absl::StrCat("n", i - 1));
    tensorflow::NodeDef& call = *graph.add_node();
    call.set_name(absl::StrCat("call", i));
    call.set_op("PartitionedCall");
    (*call.mutable_attr())["f"].mutable_func()->set_name("f");
    call.add_input("n0");
    const std::string name = absl::StrCat("a", i);
    function.mutable_signature()->add_input_arg()->set_name(name);
    function.mutable_signature()->add_output_arg()->set_name(name);
    (*function.mutable_ret())[name] = name;
  }
  EXPECT_THAT(TextOf(Write("large.pb", graph.SerializeAsString()), false),
              HasSubstr("graph: 100000 nodes are checked"));
}

}  // namespace
}  // namespace tpurun
