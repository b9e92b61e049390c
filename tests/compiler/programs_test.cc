// Each graph of testdata/programs as it is scheduled and placed: its memory plan, whose lives count
// the instructions of the prologue, of the periodic sections before the step, of the step and
// behind it; then the program, with phases, cuts and buffers. Kernels are those of a machine
// without vector instructions, which plans alike everywhere.
#include <map>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/compiler/compile.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"
#include "tests/golden.h"

namespace tpurun {
namespace {

std::string Planned(const Graph& graph) {
  std::map<std::string, std::string> dumps;
  CompileOptions options{.ops = OpsOfPasses(), .machine = Machine{}};
  if (graph.FindOutput("loss") >= 0) options.loss_output = "loss";
  options.dump = [&dumps](const std::string& file, const std::string& text) {
    dumps[file] = text;
    return absl::OkStatus();
  };
  const auto program = Compile(graph, options);
  if (!program.ok()) return absl::StrCat("error: ", program.status().message(), "\n");
  return absl::StrCat(dumps["80.memory.plan"], dumps["90.core.program"]);
}

TEST(Programs, AreScheduledAndPlacedAsTheGoldenFilesSay) {
  int cases = 0;
  for (const std::string& path : TextFiles("testdata/programs")) {
    const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
    ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
    ExpectGolden(path, Planned(*graph));
    ++cases;
  }
  EXPECT_GE(cases, 8);
}

}  // namespace
}  // namespace tpurun
