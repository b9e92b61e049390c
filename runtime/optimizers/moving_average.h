// Moving averages of variables, as tf.train.ExponentialMovingAverage keeps them.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_MOVING_AVERAGE_H_
#define TPURUN_RUNTIME_OPTIMIZERS_MOVING_AVERAGE_H_

#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

// The variable that holds the average of another: "hidden_1/kernel/ExponentialMovingAverage".
std::string AverageName(const std::string& variable);

// The name under which whoever uses what was trained (evaluate, predict, export) reads a variable
// of the model from a checkpoint, or from the store of a training: that of its average where the
// model has averages and the variable is trainable, else its own.
std::string EvaluatedName(const proto::ModelSpec& model, const Variable& variable);

// Adds an average of each trainable variable and its update, from what the variable becomes in this
// step: to be called after the optimizers' updates. `global_step` is s64[], the one after the step.
// An average is to begin with the initial value of its variable, whatever that comes from: no
// initializer says it, who fills the variables copies it (SetVariables).
void UpdateAverages(GraphBuilder& b, const proto::MovingAverage& average, Value global_step);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_MOVING_AVERAGE_H_
