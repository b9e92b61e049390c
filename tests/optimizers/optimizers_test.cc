#include "runtime/optimizers/optimizers.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/name_pattern.h"
#include "runtime/ops/ops.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/optimizers/schedules.h"
#include "tests/models/golden_case.h"

namespace tpurun {
namespace {

// "PATH: MESSAGE" a line.
std::string ErrorsOf(const std::string& text) {
  proto::Optimizer optimizer;
  ParseProto(text, "", &optimizer, nullptr);
  const ConfigErrors errors = CheckOptimizer(optimizer);
  std::string lines;
  for (const ConfigError& error : errors.all()) {
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", error.path, ": ", error.message);
  }
  return lines;
}

TEST(CheckOptimizerTest, NamesEveryMistakeWithItsPath) {
  EXPECT_EQ(ErrorsOf("adagrad {} learning_rate { constant: 0.1 } cross_shard {}"), "");
  EXPECT_EQ(ErrorsOf(""),
            ": no kind of optimizer is given, want one of: adagrad, adam, adamw, gradient_descent, "
            "lamb, momentum, rms_prop\n"
            "learning_rate: learning_rate is missing");
  EXPECT_EQ(ErrorsOf("ftrl {} learning_rate {}"),
            "ftrl: optimizer kind ftrl is not supported yet, want one of: adagrad, adam, adamw, "
            "gradient_descent, lamb, momentum, rms_prop\n"
            "learning_rate: no kind of schedule is given, want one of: constant, cosine_decay, "
            "exponential_decay, linear_warmup, piecewise_constant, polynomial_decay");
  EXPECT_EQ(ErrorsOf("adagrad { initial_accumulator_value: 0 } learning_rate { constant: -1 }"),
            "adagrad.initial_accumulator_value: initial_accumulator_value must be > 0 and finite, "
            "got 0\n"
            "learning_rate.constant: constant must be >= 0 and finite, got -1");
  EXPECT_EQ(ErrorsOf("momentum {} learning_rate { linear_warmup {} }"),
            "momentum.momentum: momentum is missing, want a number in [0, 1)\n"
            "learning_rate.linear_warmup.warmup_steps: warmup_steps is missing, want a number > 0\n"
            "learning_rate.linear_warmup.schedule: schedule is missing");
  EXPECT_EQ(
      ErrorsOf("adam { beta1: 1 beta2: -0.5 epsilon: 0 weight_decay_rate: 0.1 } "
               "learning_rate { linear_warmup { warmup_steps: -1 schedule { constant: -1 } } }"),
      "adam.beta1: beta1 must be in [0, 1), got 1\n"
      "adam.beta2: beta2 must be in [0, 1), got -0.5\n"
      "adam.epsilon: epsilon must be > 0 and finite, got 0\n"
      "adam.weight_decay_rate: weight_decay_rate is of adamw, not of adam; leave it out\n"
      "learning_rate.linear_warmup.warmup_steps: warmup_steps must be > 0, got -1\n"
      "learning_rate.linear_warmup.schedule.constant: constant must be >= 0 and finite, got -1");
  EXPECT_EQ(ErrorsOf("momentum { momentum: 1 } learning_rate { constant: 1 }"),
            "momentum.momentum: momentum must be in [0, 1), got 1");
  EXPECT_EQ(ErrorsOf("rms_prop { decay: 1 momentum: -1 epsilon: 0 } learning_rate { constant: 1 }"),
            "rms_prop.decay: decay must be in [0, 1), got 1\n"
            "rms_prop.momentum: momentum must be in [0, 1), got -1\n"
            "rms_prop.epsilon: epsilon must be > 0 and finite, got 0");
}

TEST(CheckOptimizerTest, WeightDecays) {
  for (const char* kind : {"adamw", "lamb"}) {
    EXPECT_EQ(ErrorsOf(absl::StrCat(kind,
                                    " { beta1: 1 beta2: 2 epsilon: inf weight_decay_rate: -0.1 "
                                    "exclude_from_weight_decay: ['bias', ')'] } "
                                    "learning_rate { constant: 1 }")),
              absl::StrReplaceAll("KIND.beta1: beta1 must be in [0, 1), got 1\n"
                                  "KIND.beta2: beta2 must be in [0, 1), got 2\n"
                                  "KIND.epsilon: epsilon must be > 0 and finite, got inf\n"
                                  "KIND.weight_decay_rate: weight_decay_rate must be >= 0 and "
                                  "finite, got -0.1\n"
                                  "KIND.exclude_from_weight_decay[1]: \")\" is not a regular "
                                  "expression: unexpected ): )",
                                  {{"KIND", kind}}));
  }
  EXPECT_EQ(ErrorsOf("lamb { exclude_from_layer_adaptation: '[' } learning_rate { constant: 1 }"),
            "lamb.exclude_from_layer_adaptation[0]: \"[\" is not a regular expression: missing ]: "
            "[");
}

TEST(CheckOptimizerTest, NothingThatIsSetIsIgnored) {
  EXPECT_EQ(
      ErrorsOf("adagrad {} learning_rate { constant: 0.1 } "
               "cross_shard { group_assignment { replica: 1 } group_assignment {} } "
               "var_list: '('"),
      "cross_shard.group_assignment[0].replica[0]: there is no replica 1, want each of 0 to 0 "
      "once\n"
      "cross_shard.group_assignment[1]: a group wants at least one replica\n"
      "var_list[0]: \"(\" is not a regular expression: missing ): (");
}

TEST(CheckOptimizerTest, Schedules) {
  EXPECT_EQ(ErrorsOf("adagrad {} learning_rate { exponential_decay { decay_steps: 0 } }"),
            "learning_rate.exponential_decay.initial_learning_rate: initial_learning_rate is "
            "missing, want a number >= 0\n"
            "learning_rate.exponential_decay.decay_steps: decay_steps must be > 0, got 0\n"
            "learning_rate.exponential_decay.decay_rate: decay_rate is missing, want a number > 0");
  EXPECT_EQ(
      ErrorsOf("adagrad {} learning_rate { piecewise_constant { boundaries: [5, 5] values: 1 "
               "} }"),
      "learning_rate.piecewise_constant: want one more of values than of boundaries, got 1 "
      "values and 2 boundaries\n"
      "learning_rate.piecewise_constant.boundaries[1]: boundaries must ascend, got 5 after 5");
}

TEST(CheckOptimizerTest, DecaysThatEnd) {
  EXPECT_EQ(ErrorsOf("adagrad {} learning_rate { polynomial_decay { initial_learning_rate: 1 "
                     "decay_steps: 0 end_learning_rate: -1 power: 0 } }"),
            "learning_rate.polynomial_decay.decay_steps: decay_steps must be > 0, got 0\n"
            "learning_rate.polynomial_decay.end_learning_rate: end_learning_rate must be >= 0 and "
            "finite, got -1\n"
            "learning_rate.polynomial_decay.power: power must be > 0 and finite, got 0");
  EXPECT_EQ(ErrorsOf("adagrad {} learning_rate { cosine_decay { alpha: nan } }"),
            "learning_rate.cosine_decay.initial_learning_rate: initial_learning_rate is missing, "
            "want a number >= 0\n"
            "learning_rate.cosine_decay.decay_steps: decay_steps is missing, want a number > 0\n"
            "learning_rate.cosine_decay.alpha: alpha must be >= 0 and finite, got nan");
}

TEST(CheckOptimizerTest, LimitsOfClipping) {
  EXPECT_EQ(ErrorsOf("adagrad {} learning_rate { constant: 1 } clip_by_value: 0 clip_by_norm: -1 "
                     "clip_by_global_norm: inf"),
            "clip_by_global_norm: clip_by_global_norm must be > 0 and finite, got inf\n"
            "clip_by_value: clip_by_value must be > 0 and finite, got 0\n"
            "clip_by_norm: clip_by_norm must be > 0 and finite, got -1");
}

TEST(ReductionTest, UnsetIsMean) {
  proto::Optimizer optimizer;
  EXPECT_EQ(CrossShardReduction(optimizer), Reduction::kMean);
  ParseProto("cross_shard { reduction: SUM }", "", &optimizer, nullptr);
  EXPECT_EQ(CrossShardReduction(optimizer), Reduction::kSum);
  optimizer.mutable_cross_shard()->set_reduction(proto::CrossShard::NONE);
  EXPECT_EQ(CrossShardReduction(optimizer), Reduction::kNone);
}

TEST(MovingAverageTest, WhatIsTrainableIsEvaluatedOnItsAverage) {
  const Variable kernel = {.name = "h/kernel", .trainable = true};
  const Variable statistic = {.name = "norm/moving_mean"};
  proto::ModelSpec model;
  EXPECT_EQ(EvaluatedName(model, kernel), "h/kernel");
  model.mutable_moving_average();
  EXPECT_EQ(EvaluatedName(model, kernel), "h/kernel/ExponentialMovingAverage");
  EXPECT_EQ(EvaluatedName(model, statistic), "norm/moving_mean");
}

TEST(NamePatternTest, MatchesANameItIsFoundIn) {
  const absl::StatusOr<NamePattern> pattern = NamePattern::Parse("h/.*");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->Matches("h/kernel"));
  EXPECT_TRUE(pattern->Matches("a/h/kernel"));
  EXPECT_TRUE(NamePattern::Parse("kern")->Matches("h/kernel"));
  EXPECT_TRUE(NamePattern::Parse(".*")->Matches("h/kernel"));
  EXPECT_FALSE(NamePattern::Parse("^kernel")->Matches("h/kernel"));
  EXPECT_FALSE(NamePattern::Parse("^h/k$")->Matches("h/kernel"));
  EXPECT_TRUE(NamePattern::Parse("^h/kernel$")->Matches("h/kernel"));
}

TEST(NamePatternTest, OneThatMatchesNothingIsShownWithAllNames) {
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back(absl::StrCat("v", i));
  const std::string message = MatchesNone("w", names);
  EXPECT_EQ(message.substr(0, 40), "\"w\" matches no variable (known: v0, v1, ");
  EXPECT_EQ(message.substr(message.size() - 11), ", v58, v59)");
}

TEST(NamePatternTest, AnyExpressionAndNameIsAnsweredAtOnce) {
  EXPECT_FALSE(NamePattern::Parse("((.*)*)*x")->Matches(std::string(1000, 'a')));
  EXPECT_TRUE(NamePattern::Parse(".*")->Matches(std::string(1 << 20, 'a')));
  const std::string deep = std::string(20000, '(') + "a" + std::string(20000, ')');
  EXPECT_TRUE(NamePattern::Parse(deep)->Matches("a"));
}

TEST(ApplyGradientsTest, KeepsTheVariablesOfAGraphApart) {
  proto::Optimizer optimizer;
  ParseProto("momentum { momentum: 0.5 } learning_rate { constant: 1 }", "", &optimizer, nullptr);
  GraphBuilder b{Graph()};
  std::vector<VariableGradient> gradients;
  for (const char* name : {"a/kernel", "a/bias"}) {
    const int variable =
        b.AddVariable({.name = name, .shape = Shape{DType::kF32, {2}}, .trainable = true});
    gradients.push_back({variable, Constant(b, DType::kF32, {2}, 1)});
  }
  ASSERT_TRUE(ApplyGradients(b, optimizer, gradients, Scalar(b, 1)).ok());
  const Graph graph = b.Take();
  EXPECT_EQ(graph.updates().size(), 4u);
  EXPECT_GE(graph.FindVariable("a/kernel/Momentum"), 0);
  EXPECT_GE(graph.FindVariable("a/bias/Momentum"), 0);
  EXPECT_FALSE(graph.variables()[graph.FindVariable("a/bias/Momentum")].trainable);
}

TEST(ApplyGradientsTest, TwoAdamsHaveTheirOwnPowers) {
  GraphBuilder b{Graph()};
  for (const char* name : {"a", "b"}) {
    proto::Optimizer optimizer;
    ParseProto("adam {} learning_rate { constant: 1 }", "", &optimizer, nullptr);
    const Shape shape = {DType::kF32, {2}};
    const VariableGradient gradient = {b.AddVariable({.name = name, .shape = shape}),
                                       Constant(b, DType::kF32, {2}, 1)};
    ASSERT_TRUE(ApplyGradients(b, optimizer, {&gradient, 1}, Scalar(b, 1)).ok());
  }
  const Graph graph = b.Take();
  EXPECT_EQ(graph.updates().size(), 10u);
  for (const char* name : {"beta1_power", "beta2_power", "beta1_power_1", "beta2_power_1"}) {
    EXPECT_GE(graph.FindVariable(name), 0) << name;
  }
}

}  // namespace
}  // namespace tpurun
