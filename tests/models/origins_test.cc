// Every node of every model says which layers it comes from, and no pass loses one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/model_builder.h"
#include "runtime/compiler/compile.h"
#include "runtime/estimator/train_step.h"
#include "runtime/ir/structural.h"
#include "runtime/ops/op_list.h"
#include "runtime/program/program_text.h"
#include "tests/models/golden_case.h"

namespace tpurun {
namespace {

std::vector<std::string> Models() {
  std::vector<std::string> models;
  for (const char* folder : {"testdata/iris", "testdata/digits", "testdata/mnist"})
    models.push_back(absl::StrCat(folder, "/model.textproto"));
  for (const auto& entry : std::filesystem::directory_iterator("models/zoo")) {
    if (entry.is_directory()) models.push_back(entry.path().string() + "/model.textproto");
  }
  return models;
}

absl::StatusOr<Graph> GraphOf(const std::string& file, ModeKey mode) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  proto::ModelSpec model;
  SourceLocations locations;
  ParseProto(text.str(), "model", &model, &locations);
  const absl::StatusOr<ModelFn> model_fn = CheckedModelFn(model, locations);
  if (!model_fn.ok()) return model_fn.status();
  absl::StatusOr<EstimatorSpec> spec =
      (*model_fn)({.mode = mode, .topology = kDevice, .batch_per_replica = 8});
  if (!spec.ok()) return spec.status();
  if (mode == ModeKey::kTrain) return BuildTrainStep(*std::move(spec));
  Graph graph = std::move(spec->graph);
  for (const EvalMetric& metric : spec->eval_metrics) {
    for (size_t i = 0; i < metric.statistics.size(); ++i)
      graph.AddOutput(absl::StrCat(metric.name, "/", i), metric.statistics[i]);
  }
  for (const NamedValue& prediction : spec->predictions) {
    if (mode == ModeKey::kPredict) graph.AddOutput(prediction.name, prediction.value);
  }
  return graph;
}

// `but`: the op of nodes to leave out, or nullptr.
std::set<NodeOrigin> OriginsOf(const Graph& graph, const OpDef* but = nullptr) {
  std::set<NodeOrigin> origins;
  for (const Node& node : graph.nodes()) {
    if (node.op != but) origins.insert(node.origins.begin(), node.origins.end());
  }
  return origins;
}

// These remove nodes that nothing reads, or whose value is known.
bool RemovesNodes(const std::string& pass) {
  return pass == "dead_code" || pass == "fold" || pass == "simplify";
}

TEST(OriginsTest, NoPassLosesOne) {
  ASSERT_GE(Models().size(), 9u);
  for (const std::string& model : Models()) {
    for (const ModeKey mode : {ModeKey::kTrain, ModeKey::kEval, ModeKey::kPredict}) {
      absl::StatusOr<Graph> graph = GraphOf(model, mode);
      ASSERT_TRUE(graph.ok()) << model << ": " << graph.status();
      for (const Node& node : graph->nodes())
        ASSERT_FALSE(node.origins.empty()) << model << ": " << node.op->name << " " << node.name;
      for (const Pass& pass : Passes(OpsOfPasses())) {
        const std::set<NodeOrigin> before = OriginsOf(*graph);
        absl::StatusOr<Graph> after = pass.run(*graph);
        ASSERT_TRUE(after.ok()) << model << " " << pass.name << ": " << after.status();
        for (const Node& node : after->nodes())
          ASSERT_FALSE(node.origins.empty())
              << model << " " << pass.name << ": " << node.op->name << " " << node.name;
        // A pass may give a node to the phases update and output; it makes no other origin.
        for (const NodeOrigin& origin : OriginsOf(*after)) {
          EXPECT_TRUE(before.count(origin) > 0 || origin.phase == NodeOrigin::Phase::kUpdate ||
                      origin.phase == NodeOrigin::Phase::kOutput)
              << model << " " << pass.name << " makes " << Describe({origin});
        }
        if (!RemovesNodes(pass.name)) {
          // A conversion becomes an attribute of the op before it, whose work it does not add to.
          const bool converts = pass.name == "bfloat16_propagation";
          for (const NodeOrigin& origin : OriginsOf(*graph, converts ? &ConvertOp() : nullptr)) {
            EXPECT_EQ(OriginsOf(*after).count(origin), 1u)
                << model << " " << pass.name << " loses " << Describe({origin});
          }
        }
        graph = std::move(after);
      }
    }
  }
}

// A layer that is trained is in the program in all three phases, and the text keeps it.
TEST(OriginsTest, AProgramSaysWhereItsInstructionsComeFrom) {
  absl::StatusOr<Graph> graph = GraphOf("testdata/mnist/model.textproto", ModeKey::kTrain);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<CoreProgram> program =
      Compile(*std::move(graph), {.ops = OpsOfPasses(), .loss_output = kLossOutput});
  ASSERT_TRUE(program.ok()) << program.status();
  std::set<std::string> found;
  for (const Instruction* instruction : program->Instructions()) {
    EXPECT_FALSE(instruction->origins.empty()) << Describe(*instruction);
    for (const NodeOrigin& origin : instruction->origins)
      found.insert(absl::StrCat(origin.layer, ":", PhaseName(origin.phase)));
  }
  for (const char* want : {"conv2d:forward", "conv2d:backward", "conv2d:update", "conv2d_1:forward",
                           "dense:backward", "dense:update", "loss:forward", "loss:backward"})
    EXPECT_EQ(found.count(want), 1u) << want;
  const absl::StatusOr<CoreProgram> again = ParseProgram(PrintProgram(*program), FindOpByName);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintProgram(*again), PrintProgram(*program));
}

}  // namespace
}  // namespace tpurun
