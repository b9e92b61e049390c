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

// A gradient that is ready to be applied: summed over all replicas, or over the replicas of a
// group.
struct VariableGradient {
  int variable = 0;  // index in the graph
  // The gradient of the variable's elements. Its dimensions are also the dimensions in which the
  // update is computed. With ids it is (K, ...): rows of the variable, to be summed by id.
  Value gradient;
  Value ids;  // s32[K] or s64[K]: ids of the rows, the other rows being 0; or invalid
};

// A variable and its slots, in the order of OptimizerDef::slots, or the same rows of all of them.
struct UpdateValues {
  Value variable;
  std::vector<Value> slots;
};

// The inputs of an update.
struct UpdateArgs {
  std::string name;  // name of the variable
  UpdateValues old;
  Value gradient;             // the shape of `old`, or f32[]: the same for every element
  Value learning_rate;        // f32[], from the schedule
  std::vector<Value> shared;  // f32[] each, from OptimizerDef::shared
};

// A slot is a variable of the same shape with the name VARIABLE/NAME. A scalar belongs to the
// optimizer: it is f32[] with the name NAME (NAME_1 if NAME is taken).
struct SlotDef {
  std::string name;
  double initial_value = 0;
};

// A field that chooses variables by name.
struct NamePatterns {
  std::string field;  // path of the field: "adamw.exclude_from_weight_decay"
  const google::protobuf::RepeatedPtrField<std::string>& expressions;
};

// One row of optimizer_list.cc.
struct OptimizerDef {
  std::string name;  // name of its field in the oneof
  std::vector<SlotDef> (*slots)(const proto::Optimizer& optimizer);
  // The update is computed element by element, unless `needs_whole_variable`.
  UpdateValues (*update)(GraphBuilder& b, const proto::Optimizer& optimizer,
                         const UpdateArgs& args);
  // nullptr if there are none.
  std::vector<NamePatterns> (*name_patterns)(const proto::Optimizer& optimizer) = nullptr;
  // An element's update depends on other elements (a norm): updates are never computed for single
  // rows.
  bool needs_whole_variable = false;
  // If the gradient is 0, variable and slots stay unchanged.
  bool keeps_without_gradient = false;
  // All three are nullptr if the optimizer has no scalars. `scalars` lists them, and `shared`
  // computes from them and the learning rate the values that every update receives. `finish` adds
  // the updates of the scalars after all other updates. `scalars` as an argument are variables.
  std::vector<SlotDef> (*scalars)(const proto::Optimizer& optimizer) = nullptr;
  std::vector<Value> (*shared)(GraphBuilder& b, const std::vector<int>& scalars,
                               Value learning_rate) = nullptr;
  void (*finish)(GraphBuilder& b, const proto::Optimizer& optimizer,
                 const std::vector<int>& scalars) = nullptr;
};

const std::vector<OptimizerDef>& OptimizerList();

// All errors in an optimizer's configuration and its schedule, before any graph exists. Paths are
// relative to the Optimizer message.
ConfigErrors CheckOptimizer(const proto::Optimizer& optimizer, int num_replicas = 1);

// Every field that chooses variables by name: var_list and the fields of the optimizer's kind.
std::vector<NamePatterns> NamePatternsOf(const proto::Optimizer& optimizer);

// The kind, "adagrad", or empty if none is set.
std::string KindOf(const proto::Optimizer& optimizer);

// How the gradients of the replicas are combined. MEAN: the loss is scaled by 1 / replicas before
// the gradients are computed, and the gradients are summed. SUM: they are summed. NONE: each
// replica applies its own gradient. CrossShardOptimizer refuses NONE on several replicas, and so
// does ParseModel.
enum class Reduction { kNone, kSum, kMean };
Reduction CrossShardReduction(const proto::Optimizer& optimizer);

// Adds slots and scalars (not trainable), and one update for each of them and for each variable.
// `learning_rate` is f32[]. The optimizer must have passed CheckOptimizer. Returns the status of
// the builder.
absl::Status ApplyGradients(GraphBuilder& b, const proto::Optimizer& optimizer,
                            std::span<const VariableGradient> gradients, Value learning_rate);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_OPTIMIZERS_H_
