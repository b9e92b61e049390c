// Optimizers as graph builders without kernels: from gradients to updates of variables and slots.
// Formulas and the order of operations are those of TensorFlow 1.x's training kernels.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_OPTIMIZERS_H_
#define TPURUN_RUNTIME_OPTIMIZERS_OPTIMIZERS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

// A gradient as it is applied: already summed over the replicas, or those of a group.
struct VariableGradient {
  int variable = 0;  // index in the graph
  // Of the variable's elements, in dimensions in which its update is computed too; with ids (K,
  // ...): rows of the variable, to be summed by id.
  Value gradient;
  Value ids;  // invalid, or s32[K] or s64[K]: which rows those are, the others being 0
};

// A variable and its slots, in the order of OptimizerDef::slots, or the same rows of each.
struct UpdateValues {
  Value variable;
  std::vector<Value> slots;
};

// What an update computes from.
struct UpdateArgs {
  std::string name;  // of the variable
  UpdateValues old;
  Value gradient;             // of their shape, or f32[]: the same of every element
  Value learning_rate;        // f32[], the schedule's
  std::vector<Value> shared;  // f32[] each, of OptimizerDef::shared
};

// A slot is a variable of the same shape, called VARIABLE/NAME. A scalar belongs to the optimizer,
// is f32[] and called NAME (NAME_1 when that is taken).
struct SlotDef {
  std::string name;
  double initial_value = 0;
};

// A field that chooses variables by name.
struct NamePatterns {
  std::string field;  // its path: "adamw.exclude_from_weight_decay"
  const google::protobuf::RepeatedPtrField<std::string>& expressions;
};

// One row of optimizer_list.cc.
struct OptimizerDef {
  std::string name;  // of its field in the oneof
  std::vector<SlotDef> (*slots)(const proto::Optimizer& optimizer);
  // Element by element, unless it `needs_whole_variable`.
  UpdateValues (*update)(GraphBuilder& b, const proto::Optimizer& optimizer,
                         const UpdateArgs& args);
  // Null: none.
  std::vector<NamePatterns> (*name_patterns)(const proto::Optimizer& optimizer) = nullptr;
  // An element's update depends on the others (a norm): it is never computed of rows.
  bool needs_whole_variable = false;
  // Where the gradient is 0, variable and slots stay as they are.
  bool keeps_without_gradient = false;
  // Null, or: the scalars, what of them and the learning rate every update is given, and the
  // scalars' own updates after those. `scalars` are variables.
  std::vector<SlotDef> (*scalars)(const proto::Optimizer& optimizer) = nullptr;
  std::vector<Value> (*shared)(GraphBuilder& b, const std::vector<int>& scalars,
                               Value learning_rate) = nullptr;
  void (*finish)(GraphBuilder& b, const proto::Optimizer& optimizer,
                 const std::vector<int>& scalars) = nullptr;
};

const std::vector<OptimizerDef>& OptimizerList();

// Everything that is wrong with an optimizer's configuration, its schedule included, before any
// graph exists. Paths are below the Optimizer message.
ConfigErrors CheckOptimizer(const proto::Optimizer& optimizer, int num_replicas = 1);

// Every field that chooses variables by name: var_list, and those of its kind.
std::vector<NamePatterns> NamePatternsOf(const proto::Optimizer& optimizer);

// "adagrad"; empty when no kind is set.
std::string KindOf(const proto::Optimizer& optimizer);

// How the gradients of the replicas meet. MEAN: the loss is scaled by 1 / replicas before the
// gradients are taken, and those are summed. SUM: they are summed. NONE: each replica applies its
// own, which CrossShardOptimizer refuses on several replicas (so does MakeModelFn).
enum class Reduction { kNone, kSum, kMean };
Reduction CrossShardReduction(const proto::Optimizer& optimizer);

// Adds slots and scalars (not trainable) and one update for each of them and of the variables.
// `learning_rate` is f32[]. InvalidArgument for what CheckOptimizer refuses; otherwise the
// builder's status.
absl::Status ApplyGradients(GraphBuilder& b, const proto::Optimizer& optimizer,
                            std::span<const VariableGradient> gradients, Value learning_rate);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_OPTIMIZERS_H_
