// Moving averages of variables, as in tf.train.ExponentialMovingAverage.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_MOVING_AVERAGE_H_
#define TPURUN_RUNTIME_OPTIMIZERS_MOVING_AVERAGE_H_

#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

// The name of the average of a variable: "hidden_1/kernel/ExponentialMovingAverage".
std::string AverageName(const std::string& variable);

// The name by which evaluate, predict and export read a model variable from a checkpoint or from
// the store of a training: the name of its average if the model has averages and the variable is
// trainable, else its own name.
std::string EvaluatedName(const proto::ModelSpec& model, const Variable& variable);

// Adds an average of each trainable variable, and its update from the value that the variable gets
// in this step. Must be called after the optimizers' updates. `global_step` is s64[] and counts
// this step. An average must begin with the initial value of its variable, whatever its origin. It
// has no initializer for that: SetVariables, which fills the variables, copies the value.
void UpdateAverages(GraphBuilder& b, const proto::MovingAverage& average, Value global_step);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_MOVING_AVERAGE_H_
