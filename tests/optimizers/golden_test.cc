// Runs every case of testdata/optimizers, testdata/schedules and testdata/clipping, and holds the
// tables of runtime/optimizers to have a golden file for each row.
//
//   optimizer: an Optimizer             schedule: a Schedule
//   moving_average: a MovingAverage     expect STEP: learning rate of that global step
//   variable NAME: tensor
//   gradient NAME: tensor               one training step
//   expect NAME: tensor                 a variable, slot or average after the step above
//   expect slots: one line of graph text for each variable that the optimizer added
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ir/structural.h"
#include "runtime/optimizers/clip.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/optimizers/optimizers.h"
#include "runtime/optimizers/schedules.h"
#include "tests/models/golden_case.h"

namespace tpurun {
namespace {

using Variables = std::map<std::string, std::vector<Literal>>;

// A graph of one variable whose gradient is fed; of the step from `global_step` on, at the rate of
// 0.
Graph UpdateGraph(const proto::Optimizer& optimizer, const proto::MovingAverage* average,
                  int64_t global_step, const std::string& name, const Shape& shape) {
  GraphBuilder b{Graph("update")};
  const Value gradient = b.AddInfeed("gradient", shape);
  const int variable = b.AddVariable({.name = name, .shape = shape, .trainable = true});
  const Value step = ConstantInt(b, DType::kS64, {}, {0});
  const VariableGradient entry = {variable, gradient};
  const absl::Status status =
      ApplyGradients(b, optimizer, {&entry, 1}, LearningRate(b, optimizer.learning_rate(), step));
  EXPECT_TRUE(status.ok()) << status;
  if (average != nullptr) {
    UpdateAverages(b, *average, ConstantInt(b, DType::kS64, {}, {global_step + 1}));
    EXPECT_TRUE(b.status().ok()) << b.status();
  }
  return b.Take();
}

// Each variable at its initial value, a constant; averages are there already.
Variables InitialSlots(const Graph& graph, Variables variables) {
  for (const Variable& variable : graph.variables()) {
    if (variables.count(variable.name)) continue;
    variables[variable.name] = {
        ParseLiteral(absl::StrCat(variable.shape.ToString(), " = ", variable.initializer.a))};
  }
  return variables;
}

void CheckOptimizerCase(const GoldenCase& golden) {
  proto::Optimizer optimizer;
  ParseProto(golden.Get("optimizer"), "", &optimizer, nullptr);
  const ConfigErrors errors = CheckOptimizer(optimizer);
  ASSERT_TRUE(errors.empty()) << golden.Where() << errors.all().front().message;
  proto::MovingAverage average;
  ParseProto(golden.Get("moving_average"), "", &average, nullptr);
  const bool averages = !golden.Get("moving_average").empty();
  Variables variables;
  std::string slots;
  int64_t global_step = 0;
  for (const auto& [key, value] : golden.entries) {
    if (key.rfind("variable ", 0) == 0) {
      variables[key.substr(9)] = variables[AverageName(key.substr(9))] = {ParseLiteral(value)};
    }
    if (key.rfind("gradient ", 0) == 0) {
      const std::string name = key.substr(9);
      const Graph graph = UpdateGraph(optimizer, averages ? &average : nullptr, global_step++, name,
                                      variables[name][0].shape());
      const absl::Status verified = VerifyGraph(graph, "the optimizer");
      ASSERT_TRUE(verified.ok()) << verified;
      slots.clear();
      for (const Variable& variable : graph.variables()) {
        if (variable.name == name || variable.name == AverageName(name)) continue;
        absl::StrAppend(&slots, "\n", PrintVariable(variable));
      }
      const absl::StatusOr<EvaluateResult> result =
          Evaluate(graph, {.infeed = {{ParseLiteral(value)}},
                           .variables = InitialSlots(graph, std::move(variables))});
      ASSERT_TRUE(result.ok()) << golden.Where() << result.status();
      variables = result->variables;
    }
    if (key == "expect slots") {
      EXPECT_EQ(slots, value.empty() || value[0] == '\n' ? value : "\n" + value) << golden.Where();
    } else if (key.rfind("expect ", 0) == 0) {
      ASSERT_TRUE(variables.count(key.substr(7))) << golden.Where() << key;
      ExpectNear(variables[key.substr(7)][0], ParseLiteral(value), golden.Tolerance(),
                 golden.Where() + key);
    }
  }
}

void CheckScheduleCase(const GoldenCase& golden) {
  proto::Schedule schedule;
  ParseProto(golden.Get("schedule"), "", &schedule, nullptr);
  GraphBuilder b{Graph("schedule")};
  b.AddOutput("rate", LearningRate(b, schedule, b.AddInfeed("step", Shape{DType::kS64, {}})));
  ASSERT_TRUE(b.status().ok()) << golden.Where() << b.status();
  const Graph graph = b.Take();
  for (const auto& [key, value] : golden.entries) {
    if (key.rfind("expect ", 0) != 0) continue;
    const Literal step = ParseLiteral("s64[] = " + key.substr(7));
    const absl::StatusOr<EvaluateResult> result = Evaluate(graph, {.infeed = {{step}}});
    ASSERT_TRUE(result.ok()) << golden.Where() << result.status();
    // A few roundings of f32, relative to the rate itself.
    const double want = std::stod(value);
    ASSERT_EQ(result->outputs[0][0].shape().ToString(), "f32[]");
    EXPECT_NEAR(result->outputs[0][0].values<float>()[0], want, 2e-6 * want)
        << golden.Where() << key;
  }
}

// Of testdata/clipping: `gradient NAME` of several variables, `expect NAME` what becomes of it.
void CheckClippingCase(const GoldenCase& golden) {
  proto::Optimizer optimizer;
  ParseProto(golden.Get("optimizer"), "", &optimizer, nullptr);
  const ConfigErrors errors = CheckOptimizer(optimizer);
  ASSERT_TRUE(errors.empty()) << golden.Where() << errors.all().front().message;
  GraphBuilder b{Graph("clipping")};
  std::vector<VariableGradient> gradients;
  std::vector<std::string> names;
  EvaluateArgs args;
  for (const auto& [key, value] : golden.entries) {
    if (key.rfind("gradient ", 0) != 0) continue;
    const Literal gradient = ParseLiteral(value);
    names.push_back(key.substr(9));
    gradients.push_back({.gradient = b.AddInfeed(names.back(), gradient.shape())});
    args.infeed.push_back({gradient});
  }
  ClipGradients(b, optimizer, gradients);
  for (size_t i = 0; i < names.size(); ++i) b.AddOutput(names[i], gradients[i].gradient);
  const absl::StatusOr<EvaluateResult> result = Evaluate(b.Take(), args);
  ASSERT_TRUE(result.ok()) << golden.Where() << result.status();
  for (size_t i = 0; i < names.size(); ++i) {
    ExpectNear(result->outputs[i][0], ParseLiteral(golden.Get("expect " + names[i])),
               golden.Tolerance(), golden.Where() + names[i]);
  }
}

TEST(ClippingGoldenTest, EveryFileHolds) {
  for (const std::string& file : GoldenFiles("clipping")) {
    for (const GoldenCase& golden : ReadGoldenFile(file)) CheckClippingCase(golden);
  }
}

TEST(OptimizerGoldenTest, EveryFileHolds) {
  for (const std::string& file : GoldenFiles("optimizers")) {
    for (const GoldenCase& golden : ReadGoldenFile(file)) CheckOptimizerCase(golden);
  }
}

TEST(ScheduleGoldenTest, EveryFileHolds) {
  for (const std::string& file : GoldenFiles("schedules")) {
    for (const GoldenCase& golden : ReadGoldenFile(file)) CheckScheduleCase(golden);
  }
}

TEST(OptimizerListTest, EveryRowHasAFile) {
  for (const OptimizerDef& def : OptimizerList()) {
    EXPECT_TRUE(std::filesystem::exists("testdata/optimizers/" + def.name + ".txt")) << def.name;
  }
  for (const ScheduleDef& def : ScheduleList()) {
    EXPECT_TRUE(std::filesystem::exists("testdata/schedules/" + def.name + ".txt")) << def.name;
  }
  for (const ClipDef& def : ClipList()) {
    EXPECT_TRUE(std::filesystem::exists("testdata/clipping/" + def.field + ".txt")) << def.field;
  }
}

}  // namespace
}  // namespace tpurun
