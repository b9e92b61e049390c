#include "runtime/ir/export_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace tpurun {
namespace {

std::vector<std::string> Names(const ExportGraph& graph) {
  std::vector<std::string> names;
  for (const ExportNode& node : graph.nodes()) names.push_back(node.name);
  return names;
}

TEST(ExportGraphTest, NamesAreTensorFlowsAndUnique) {
  ExportGraph graph;
  graph.set_scope("hidden/MatMul");
  const Value x = graph.Input("image/class of", ElementType::kFloat, {-1, 2});
  const Value first = graph.Add("Relu", {x});
  const Value second = graph.Add("Relu", {first}, {}, "_again");
  graph.Add("Relu", {second});
  graph.NameResult(first, "hidden/MatMul");
  graph.NameResult(x, "an input keeps its name");
  EXPECT_EQ(Names(graph),
            (std::vector<std::string>{"image/class_of", "hidden/MatMul", "hidden/MatMul/_again",
                                      "hidden/MatMul/Relu_1"}));
  EXPECT_EQ(graph.nodes()[0].key, "image/class of");
}

TEST(ExportGraphTest, NamesBeginWithALetterOrDigit) {
  ExportGraph graph;
  graph.Input("_hidden", ElementType::kFloat, {});
  graph.Input("", ElementType::kFloat, {});
  EXPECT_EQ(Names(graph), (std::vector<std::string>{"x_hidden", "x"}));
}

TEST(ExportGraphTest, AnInputAndAVariableAreThereOnce) {
  ExportGraph graph;
  const Value input = graph.Input("x", ElementType::kFloat, {-1});
  const Value variable = graph.Variable("x", ElementType::kFloat, {3});
  EXPECT_EQ(graph.Input("x", ElementType::kFloat, {-1}), input);
  EXPECT_EQ(graph.Variable("x", ElementType::kFloat, {3}), variable);
  EXPECT_EQ(Names(graph), (std::vector<std::string>{"x", "x_1"}));
  EXPECT_EQ(graph.nodes()[variable.node].key, "x");
}

TEST(ExportGraphTest, ShapesAndAxesAreInt64) {
  ExportGraph graph;
  const Value vector = graph.Int64s({-1, 2}, "shape");
  const Value scalar = graph.Int64(3, "axis");
  EXPECT_EQ(graph.nodes()[vector.node].dims, ExportDims{2});
  EXPECT_EQ(graph.nodes()[scalar.node].dims, ExportDims{});
  const ExportTensor tensor = std::get<ExportTensor>(graph.nodes()[vector.node].attrs.at("value"));
  EXPECT_EQ(tensor.type, ElementType::kInt64);
  EXPECT_EQ(tensor.bytes, std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\0\0\0", 16));
}

}  // namespace
}  // namespace tpurun
