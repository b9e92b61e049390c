#include "runtime/estimator/train_step.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/cpu.h"
#include "runtime/ir/evaluate.h"
#include "runtime/ops/ops.h"
#include "tests/estimator/toy.h"

namespace tpurun {
namespace {

struct Step {
  EvaluateResult result;
  std::vector<float> losses;
  float w = 0;
  int64_t global_step = 0;
  std::vector<std::string> summed;  // the ops whose results are summed over replicas
};

// One step of the reference interpreter from w = 2 at step 5. Replica r has x = (1, r + 1), y = 0;
// `add_to_loss` makes another loss of the model's.
Step RunStep(const proto::Optimizer& optimizer, int num_replicas,
             Value (*add_to_loss)(GraphBuilder& b, Value loss) = nullptr,
             bool keep_gradients = false) {
  absl::StatusOr<EstimatorSpec> spec = ToyModel(
      optimizer, {.topology = {.num_of_replicas_per_host = num_replicas}, .batch_per_replica = 2});
  EXPECT_TRUE(spec.ok()) << spec.status();
  if (add_to_loss != nullptr) {
    GraphBuilder b(std::move(spec->graph));
    spec->optimizers[0].loss = spec->loss = add_to_loss(b, spec->loss);
    EXPECT_TRUE(b.status().ok()) << b.status();
    spec->graph = b.Take();
  }
  const absl::StatusOr<Graph> graph =
      BuildTrainStep(*std::move(spec), {.keep_gradients = keep_gradients});
  EXPECT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(VerifyGraph(*graph, "test").ok());
  EvaluateArgs args;
  args.infeed.resize(2);
  for (int replica = 0; replica < num_replicas; ++replica) {
    args.infeed[0].push_back(Literal::Of<float>({2}, {1, static_cast<float>(replica + 1)}));
    args.infeed[1].push_back(Literal::Of<float>({2}, {0, 0}));
  }
  args.variables["w"] = {Literal::Scalar<float>(2)};
  args.variables["global_step"] = {Literal::Scalar<int64_t>(5)};
  if (keep_gradients) {
    for (const std::string& name : {KeptGradientName("w"), KeptNonzeroName("w")})
      args.variables[name] = {Literal::Scalar<float>(0)};
  }
  const ScopedFlushDenormals flush;  // as in a worker
  Step step{.result = *Evaluate(*graph, args)};
  for (const Node& node : graph->nodes()) {
    if (node.op == &CrossReplicaSumOp())
      step.summed.push_back(graph->node(node.inputs[0]).op->name);
  }
  for (const Literal& loss : step.result.outputs[graph->FindOutput("loss")]) {
    step.losses.push_back(loss.values<float>()[0]);
  }
  step.w = step.result.variables.at("w")[0].values<float>()[0];
  step.global_step = step.result.variables.at("global_step")[0].values<int64_t>()[0];
  return step;
}

// The loss is w^2 (1 + x1^2) / 2, its gradient w (1 + x1^2) = 4 at w = 2, x1 = 1.
TEST(TrainStepTest, OneReplicaSubtractsTheGradient) {
  const Step step = RunStep(Sgd(0.25), 1);
  EXPECT_EQ(step.losses, std::vector<float>{4});
  EXPECT_EQ(step.w, 2 - 0.25f * 4);
  EXPECT_EQ(step.global_step, 6);
}

// Two replicas: gradients 4 and 10. MEAN: 7; SUM: 14. The losses are each core's, unscaled.
TEST(TrainStepTest, MeanAveragesOverReplicas) {
  const Step step = RunStep(Sgd(0.25), 2);
  EXPECT_EQ(step.losses, (std::vector<float>{4, 10}));
  EXPECT_EQ(step.w, 2 - 0.25f * 7);
}

TEST(TrainStepTest, SumAddsUpOverReplicas) {
  proto::Optimizer optimizer = Sgd(0.25);
  optimizer.mutable_cross_shard()->set_reduction(proto::CrossShard::SUM);
  EXPECT_EQ(RunStep(optimizer, 2).w, 2 - 0.25f * 14);
}

// 3 w^2 / 2 has the gradient 6 on each replica: MEAN: 7 + 6; SUM: 14 + 12. What is summed is what
// it is without.
TEST(TrainStepTest, AGradientThatReplicasHaveAlikeIsNotSentAround) {
  const auto with_l2 = [](GraphBuilder& b, Value loss) {
    const Value w = Reshape(b, b.Read(b.graph().FindVariable("w")), {1});
    return Add(b, loss, ReduceSum(b, L2LossOfRows(b, w, 3)));
  };
  proto::Optimizer optimizer = Sgd(0.25);
  const Step step = RunStep(optimizer, 2, with_l2);
  EXPECT_EQ(step.losses, (std::vector<float>{10, 16}));
  EXPECT_EQ(step.w, 2 - 0.25f * 13);
  EXPECT_EQ(step.summed, RunStep(optimizer, 2).summed);
  optimizer.mutable_cross_shard()->set_reduction(proto::CrossShard::SUM);
  EXPECT_EQ(RunStep(optimizer, 2, with_l2).w, 2 - 0.25f * 26);
  // Every gradient is: nothing to sum.
  const Step alone = RunStep(optimizer, 2, [](GraphBuilder& b, Value) {
    return Mul(b, Scalar(b, 2), b.Read(b.graph().FindVariable("w")));
  });
  EXPECT_EQ(alone.w, 2 - 0.25f * 4);
  EXPECT_TRUE(alone.summed.empty());
}

// 0.5 * 0.5 ^ (5 / 5) at global step 5.
TEST(TrainStepTest, TheLearningRateReadsTheStepBeforeTheUpdate) {
  proto::Optimizer optimizer = Sgd(0);
  auto& decay = *optimizer.mutable_learning_rate()->mutable_exponential_decay();
  decay.set_initial_learning_rate(0.5);
  decay.set_decay_rate(0.5);
  decay.set_decay_steps(5);
  EXPECT_FLOAT_EQ(RunStep(optimizer, 1).w, 2 - 0.25f * 4);
}

TEST(TrainStepTest, SlotsAreVariablesOfTheGraph) {
  proto::Optimizer optimizer = Sgd(0.25);
  optimizer.mutable_adagrad();
  absl::StatusOr<EstimatorSpec> spec = ToyModel(optimizer, {.batch_per_replica = 2});
  const absl::StatusOr<Graph> graph = BuildTrainStep(*std::move(spec));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const int slot = graph->FindVariable("w/Adagrad");
  ASSERT_GE(slot, 0);
  EXPECT_FALSE(graph->variables()[slot].trainable);
  EXPECT_GE(graph->FindVariable("global_step"), 0);
}

TEST(TrainStepTest, ALossThatReachesNoVariableIsRefused) {
  const proto::Optimizer optimizer = Sgd(1);
  absl::StatusOr<EstimatorSpec> spec = ToyModel(optimizer, {.batch_per_replica = 2});
  GraphBuilder b(std::move(spec->graph));
  spec->optimizers[0].loss = Scalar(b, 1);
  spec->graph = b.Take();
  const absl::StatusOr<Graph> graph = BuildTrainStep(*std::move(spec));
  EXPECT_TRUE(absl::IsInvalidArgument(graph.status()));
  EXPECT_NE(graph.status().message().find("nothing to train"), absl::string_view::npos);
}

// What the kept variables have after a step: the gradient, and whether it has an element.
std::pair<float, float> Kept(const Step& step) {
  const auto value = [&](const std::string& name) {
    return step.result.variables.at(name)[0].values<float>()[0];
  };
  return {value(KeptGradientName("w")), value(KeptNonzeroName("w"))};
}

TEST(TrainStepTest, GradientsAreKept) {
  const Step plain = RunStep(Sgd(0.25), 2), kept = RunStep(Sgd(0.25), 2, nullptr, true);
  EXPECT_EQ(kept.w, plain.w);
  EXPECT_EQ(kept.losses, plain.losses);
  // The mean of w (1 + 1) and w (1 + 4).
  EXPECT_EQ(Kept(kept), std::pair(7.0f, 1.0f));
}

TEST(TrainStepTest, FlushedGradientIsToldFromOneThatIsZero) {
  const auto tiny = [](GraphBuilder& b, Value loss) {
    return Mul(b, Mul(b, loss, Scalar(b, 0x1p-100)), Scalar(b, 0x1p-30));
  };
  EXPECT_EQ(Kept(RunStep(Sgd(0.25), 1, tiny, true)), std::pair(0.0f, 1.0f));
  const auto zero = [](GraphBuilder& b, Value loss) { return Mul(b, loss, Scalar(b, 0)); };
  EXPECT_EQ(Kept(RunStep(Sgd(0.25), 1, zero, true)), std::pair(0.0f, 0.0f));
}

}  // namespace
}  // namespace tpurun
