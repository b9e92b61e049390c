#include "runtime/estimator/train_step.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/autodiff/gradients.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/train_summaries.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ops/ops.h"
#include "runtime/optimizers/clip.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/optimizers/optimizers.h"
#include "runtime/optimizers/replica_groups.h"
#include "runtime/optimizers/row_gradients.h"
#include "runtime/optimizers/schedules.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

// Returns the group of each replica. Empty: one group of all replicas.
std::vector<int64_t> GroupsOfOptimizer(const GraphBuilder& b, const OptimizerSpec& optimizer) {
  return GroupsOf(optimizer.optimizer.cross_shard().group_assignment(), b.graph().num_replicas());
}

// Returns the loss that is differentiated: for MEAN, loss / size of the group, because the
// gradients are summed afterwards, as CrossShardOptimizer does.
Value ScaleLoss(GraphBuilder& b, const OptimizerSpec& optimizer) {
  const int size = GroupSize(GroupsOfOptimizer(b, optimizer), b.graph().num_replicas());
  if (size == 1 || CrossShardReduction(optimizer.optimizer) != Reduction::kMean) {
    return optimizer.loss;
  }
  ScopedName scope(b, "CrossShardOptimizer");
  return Mul(b, optimizer.loss, Scalar(b, 1.0 / size), "scaled_loss");
}

// Returns the gradients of the optimizer's variables that the loss depends on. InvalidArgument if
// there is none.
absl::StatusOr<std::vector<VariableGradient>> LocalGradients(GraphBuilder& b,
                                                             const OptimizerSpec& optimizer,
                                                             Value loss) {
  std::vector<Value> reads;
  for (const int variable : optimizer.variables) reads.push_back(b.Read(variable));
  ASSIGN_OR_RETURN(const std::vector<Value> values, Gradients(b, loss, reads));
  std::vector<VariableGradient> gradients;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].valid()) gradients.push_back({optimizer.variables[i], values[i]});
  }
  if (gradients.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer ", Quote(optimizer.name), ": its loss depends on none of its ",
                     optimizer.variables.size(), " variables, so there is nothing to train"));
  }
  return gradients;
}

// Removes reshapes at the end of gradients: a gradient is summed over cores and applied in the
// shape of the matrix product that computes it.
void TakeAsComputed(const GraphBuilder& b, std::vector<VariableGradient>& gradients) {
  for (VariableGradient& gradient : gradients) {
    while (!gradient.ids.valid() && IsReshape(b.graph().node(gradient.gradient)))
      gradient.gradient = b.graph().node(gradient.gradient).inputs[0];
  }
}

// A gradient as the sum of a term that may differ between replicas (`local`) and a term that is
// equal on all replicas (`same`). A term is invalid if there is none.
struct GradientTerms {
  Value local, same;
};

Value AddTerms(GraphBuilder& b, Value x, Value y) {
  return !x.valid() ? y : !y.valid() ? x : Add(b, x, y);
}

GradientTerms TermsOf(GraphBuilder& b, Value gradient, const std::vector<bool>& same) {
  if (same[gradient.node]) return {.same = gradient};
  const Node& node = b.graph().node(gradient);
  if (node.op != &AddOp() || b.shape(node.inputs[0]).dims != b.shape(node.inputs[1]).dims)
    return {.local = gradient};
  const Value inputs[] = {node.inputs[0], node.inputs[1]};
  const GradientTerms x = TermsOf(b, inputs[0], same), y = TermsOf(b, inputs[1], same);
  if (!x.same.valid() && !y.same.valid()) return {.local = gradient};
  return {AddTerms(b, x.local, y.local), AddTerms(b, x.same, y.same)};
}

// Returns for each node whether it is computed only from constants and the optimizer's variables.
// These variables have equal values on all replicas of a group.
std::vector<bool> SameOnAllReplicas(const Graph& graph, const OptimizerSpec& optimizer) {
  std::set<std::string> variables;
  for (const int variable : optimizer.variables) variables.insert(graph.variables()[variable].name);
  std::vector<bool> same(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    const OpFlags& flags = node.op->flags;
    same[node.id] = node.op == &VariableOp()
                        ? variables.count(node.attrs.String("variable")) > 0
                        : !flags.source && !flags.random && !flags.per_replica &&
                              std::all_of(node.inputs.begin(), node.inputs.end(),
                                          [&](Value input) { return same[input.node]; });
  }
  return same;
}

// Sums gradients over the replicas of each group. A term that is equal on all replicas (the
// gradient of a regularization loss) needs no CrossReplicaSum: it is multiplied by the size of the
// group.
void SumOverReplicas(GraphBuilder& b, const OptimizerSpec& optimizer,
                     std::vector<VariableGradient>& gradients) {
  if (b.graph().num_replicas() == 1) return;
  const std::vector<int64_t> groups = GroupsOfOptimizer(b, optimizer);
  const int size = GroupSize(groups, b.graph().num_replicas());
  const std::vector<bool> same = SameOnAllReplicas(b.graph(), optimizer);
  ScopedName scope(b, "CrossShardOptimizer");
  for (VariableGradient& gradient : gradients) {
    const std::string name = b.graph().variables()[gradient.variable].name;
    const ScopedOrigins origins(b, b.OriginsOfUpdate(gradient.variable));
    if (gradient.ids.valid()) {
      const ScopedName of_variable(b, name);
      ConcatOverReplicas(b, gradient);
      continue;
    }
    const GradientTerms terms = TermsOf(b, gradient.gradient, same);
    gradient.gradient = {};
    if (terms.local.valid()) {
      gradient.gradient = CrossReplicaSum(b, terms.local, groups, name + "/CrossReplicaSum");
    }
    if (terms.same.valid()) {
      const Value of_all = Mul(b, terms.same, Scalar(b, size), name + "/same_on_all_replicas");
      gradient.gradient = AddTerms(b, gradient.gradient, of_all);
    }
  }
}

// Returns the gradients of `loss`, summed over the replicas.
absl::StatusOr<std::vector<VariableGradient>> SummedGradients(GraphBuilder& b,
                                                              const OptimizerSpec& optimizer,
                                                              Value loss, bool clipped,
                                                              const TrainStepOptions& options) {
  ASSIGN_OR_RETURN(std::vector<VariableGradient> gradients, LocalGradients(b, optimizer, loss));
  if (GroupsOfOptimizer(b, optimizer).empty() && !options.dense_gradients) FindRows(b, gradients);
  TakeAsComputed(b, gradients);
  if (clipped) ClipGradients(b, optimizer.optimizer, gradients);
  SumOverReplicas(b, optimizer, gradients);
  return gradients;
}

// Makes a variable that has the value after each step.
void Keep(GraphBuilder& b, const std::string& name, Value value) {
  b.Update(b.AddVariable({.name = name, .shape = {DType::kF32, b.shape(value).dims}}), value);
}

// Between the two limits of f32: a gradient of 2^-190 becomes a normal number, one of 2^63 does not
// overflow yet.
constexpr double kLossScaleOfKept = 0x1p64;

// Keeps the gradients of the optimizer's variables, and which of their elements the gradient of a
// much larger loss has.
absl::Status KeepGradients(GraphBuilder& b, const OptimizerSpec& optimizer, Value loss,
                           const TrainStepOptions& options, const TrainStepValues& values) {
  ScopedName scope(b, "kept");
  ASSIGN_OR_RETURN(
      const std::vector<VariableGradient> scaled,
      SummedGradients(b, optimizer, Mul(b, loss, Scalar(b, kLossScaleOfKept)), false, options));
  for (const VariableGradient& gradient : scaled) {
    const Variable variable = b.graph().variables()[gradient.variable];
    Keep(b, KeptGradientName(variable.name), values.gradients.at(variable.name));
    const Value whole = Reshape(b, WholeGradient(b, gradient), variable.shape.dims);
    // A NaN is neither above nor below 0.
    const Value zero = Scalar(b, 0);
    const Value above = Convert(b, Greater(b, whole, zero), DType::kF32);
    const Value below = Convert(b, Greater(b, zero, whole), DType::kF32);
    Keep(b, KeptNonzeroName(variable.name), Add(b, above, below));
  }
  return b.status();
}

absl::Status AddOptimizer(GraphBuilder& b, const OptimizerSpec& optimizer, Value global_step,
                          const TrainStepOptions& options, TrainStepValues& values) {
  const Value loss = ScaleLoss(b, optimizer);
  ASSIGN_OR_RETURN(const std::vector<VariableGradient> gradients,
                   SummedGradients(b, optimizer, loss, true, options));
  const Value rate = LearningRate(b, optimizer.optimizer.learning_rate(), global_step);
  for (const VariableGradient& gradient : gradients) {
    const Variable variable = b.graph().variables()[gradient.variable];
    values.gradients[variable.name] = Reshape(b, WholeGradient(b, gradient), variable.shape.dims);
  }
  values.learning_rates[optimizer.name] = rate;
  RETURN_IF_ERROR(ApplyGradients(b, optimizer.optimizer, gradients, rate));
  return options.keep_gradients ? KeepGradients(b, optimizer, loss, options, values)
                                : absl::OkStatus();
}

}  // namespace

std::string KeptGradientName(const std::string& variable) {
  return absl::StrCat("gradient_of:", variable);
}

std::string KeptNonzeroName(const std::string& variable) {
  return absl::StrCat("nonzero_of:", variable);
}

absl::StatusOr<Graph> BuildTrainStep(EstimatorSpec spec, const TrainStepOptions& options) {
  GraphBuilder b(std::move(spec.graph));
  const ScopedOrigins origins(b, kOptimizerOrigin, NodeOrigin::Phase::kUpdate);
  const int global_step = GlobalStep(b);
  const Value step = b.Read(global_step);
  TrainStepValues values;
  for (const OptimizerSpec& optimizer : spec.optimizers) {
    RETURN_IF_ERROR(AddOptimizer(b, optimizer, step, options, values));
  }
  const Value next_step = Add(b, step, ConstantInt(b, DType::kS64, {}, {1}), "global_step/add");
  if (spec.moving_average.has_value()) UpdateAverages(b, *spec.moving_average, next_step);
  {
    const ScopedOrigins of_summaries(b, kSummaryOrigin, NodeOrigin::Phase::kOutput);
    AddSummaries(b, spec.summaries, values);
  }
  b.Update(global_step, next_step);
  b.AddOutput(kLossOutput, spec.loss, 0);
  RETURN_IF_ERROR(b.status());
  return b.Take();
}

}  // namespace tpurun
