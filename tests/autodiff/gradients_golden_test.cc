// Each graph of testdata/gradients with the gradients of its output "loss" by everything that is
// read: infeed slots and variables. They are compared with central differences too, unless a
// comment of the file says `no_differences: REASON`.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ir/structural.h"
#include "runtime/ops/op_list.h"
#include "tests/compiler/evaluate_args.h"
#include "tests/golden.h"

namespace tpurun {
namespace {

struct Differentiated {
  absl::Status status;
  Graph graph;                        // an output GradientName(source) for each that has one
  std::vector<std::string> constant;  // sources without one
};

std::string GradientName(const std::string& source) { return "gradient of " + source; }

// Nodes that read an infeed slot or a variable.
std::vector<Value> Sources(const Graph& graph) {
  std::vector<Value> sources;
  for (const Node& node : graph.nodes()) {
    if (node.op == &InfeedOp() || node.op == &VariableOp()) sources.push_back({node.id, 0});
  }
  return sources;
}

Differentiated Differentiate(const Graph& graph) {
  const std::vector<Value> sources = Sources(graph);
  GraphBuilder b(graph);
  const auto gradients = Gradients(b, graph.outputs()[graph.FindOutput("loss")].value, sources);
  Differentiated result;
  result.status = gradients.status();
  if (!gradients.ok()) return result;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& name = graph.node(sources[i]).name;
    if ((*gradients)[i].valid()) {
      b.AddOutput(GradientName(name), (*gradients)[i]);
    } else {
      result.constant.push_back(name);
    }
  }
  result.graph = b.Take();
  return result;
}

std::string Text(const Differentiated& differentiated) {
  if (!differentiated.status.ok()) {
    return absl::StrCat("error: ", differentiated.status.message(), "\n");
  }
  std::string text = PrintGraph(differentiated.graph);
  for (const std::string& name : differentiated.constant) {
    absl::StrAppend(&text, "# none by ", name, "\n");
  }
  return text;
}

// Halves and thirds in turn, no two next to one another alike; classes below 3.
EvaluateArgs ArgsOf(const Graph& graph) {
  int next = 0;
  return FilledArgs(graph, [&next](const Shape& shape) {
    Literal literal(shape);
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      ++next;
      if (shape.dtype == DType::kF32) {
        literal.values<float>()[i] = static_cast<float>(next * 7 % 11) / 6 - 0.75f;
      } else {
        literal.values<int32_t>()[i] = next % 3;
      }
    }
    return literal;
  });
}

std::vector<Literal>& LiteralsOf(const Node& source, EvaluateArgs& args) {
  if (source.op == &InfeedOp()) return args.infeed[source.attrs.Int("slot")];
  return args.variables[source.attrs.String("variable")];
}

// How far the f32 number `i` of a source, counted over its replicas, is moved.
double Direction(int64_t i) { return static_cast<double>(i * 5 % 7) / 7 - 0.3; }

// The sum of all replicas' losses where every number is moved by so many times its direction.
double LossAt(const Graph& graph, EvaluateArgs args, double step) {
  for (const Value source : Sources(graph)) {
    if (graph.shape(source).dtype != DType::kF32) continue;
    int64_t i = 0;
    for (Literal& literal : LiteralsOf(graph.node(source), args)) {
      for (float& value : literal.values<float>())
        value += static_cast<float>(step * Direction(i++));
    }
  }
  const auto result = Evaluate(graph, args);
  EXPECT_TRUE(result.ok()) << result.status();
  double loss = 0;
  if (!result.ok()) return loss;
  for (const Literal& of_replica : result->outputs[graph.FindOutput("loss")])
    loss += of_replica.values<float>()[0];
  return loss;
}

// The slope of that sum at 0, as the gradients say.
double SlopeOf(const Graph& graph, EvaluateArgs args) {
  const auto result = Evaluate(graph, args);
  EXPECT_TRUE(result.ok()) << result.status();
  double slope = 0;
  for (const Value source : Sources(graph)) {
    const int output = graph.FindOutput(GradientName(graph.node(source).name));
    if (!result.ok() || output < 0) continue;
    // One for all replicas: each gives its share.
    const bool shared = LiteralsOf(graph.node(source), args).size() == 1;
    int64_t i = 0;
    for (const Literal& gradient : result->outputs[output]) {
      if (shared) i = 0;
      for (const float value : gradient.values<float>()) slope += value * Direction(i++);
    }
  }
  return slope;
}

TEST(GradientsGoldenTest, GiveTheGoldenGraphs) {
  int cases = 0;
  for (const std::string& path : TextFiles("testdata/gradients")) {
    const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
    ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
    const Differentiated result = Differentiate(*graph);
    ExpectGolden(path, Text(result));
    EXPECT_TRUE(!result.status.ok() || VerifyGraph(result.graph, path).ok()) << path;
    ++cases;
  }
  EXPECT_GE(cases, 15);
}

// f32 noise over the step is about 1e-5 of the loss, the error of the difference about its square.
TEST(GradientsGoldenTest, AgreeWithCentralDifferences) {
  constexpr double kStep = 1e-2, kTolerance = 3e-3;
  int compared = 0;
  for (const std::string& path : TextFiles("testdata/gradients")) {
    const std::string input = GoldenInput(path);
    if (input.find("# no_differences: ") != std::string::npos) continue;
    const auto graph = ParseGraph(input, FindOpByName);
    ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
    const Differentiated result = Differentiate(*graph);
    if (!result.status.ok()) continue;
    const EvaluateArgs args = ArgsOf(*graph);
    const double numeric =
        (LossAt(*graph, args, kStep) - LossAt(*graph, args, -kStep)) / (2 * kStep);
    EXPECT_NEAR(SlopeOf(result.graph, args), numeric,
                kTolerance * std::max(1.0, std::fabs(numeric)))
        << path;
    ++compared;
  }
  EXPECT_GE(compared, 12);
}

TEST(GradientsGoldenTest, TheLossIsOneNumberInF32) {
  GraphBuilder b(Graph("g", 1));
  const Value x = b.AddInfeed("x", {DType::kF32, {1}});
  EXPECT_EQ(Gradients(b, x, {x}).status().message(), "the loss to differentiate is not f32[]");
  const Value whole = b.AddInfeed("whole", {DType::kS32, {}});
  EXPECT_FALSE(Gradients(b, whole, {x}).ok());
  EXPECT_FALSE(Gradients(b, Value{}, {x}).ok());
}

}  // namespace
}  // namespace tpurun
