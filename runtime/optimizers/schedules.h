// The learning rate as a function of the global step, as nodes of the graph. Formulas are those of
// tf.train's decay functions of TensorFlow 1.x, in f32.
#ifndef TPURUN_RUNTIME_OPTIMIZERS_SCHEDULES_H_
#define TPURUN_RUNTIME_OPTIMIZERS_SCHEDULES_H_

#include <string>
#include <vector>

#include "proto/config_errors.h"
#include "proto/model_spec.pb.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

// One row of schedule_list.cc.
struct ScheduleDef {
  std::string name;  // of its field in the oneof
  // What its fields show besides their rules. Null: nothing.
  void (*check)(const proto::Schedule& schedule, ConfigErrors& errors) = nullptr;
  // `step` is the global step before this step's update, s64[].
  Value (*build)(GraphBuilder& b, const proto::Schedule& schedule, Value step);
};

const std::vector<ScheduleDef>& ScheduleList();

// Appends what is wrong with the schedule; `path` is its own ("learning_rate").
void CheckSchedule(const proto::Schedule& schedule, const std::string& path, ConfigErrors& errors);

// The learning rate, f32[], of the step whose number (s64[], 0 for the first) is `global_step`. The
// schedule must have passed CheckSchedule; else the builder fails.
Value LearningRate(GraphBuilder& b, const proto::Schedule& schedule, Value global_step);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_SCHEDULES_H_
