// The learning rate as a function of the global step, built as graph nodes. Formulas are those of
// TensorFlow 1.x's tf.train decay functions, in f32.
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
  std::string name;  // name of its field in the oneof
  // Checks the fields beyond their own rules. nullptr if there is nothing to check.
  void (*check)(const proto::Schedule& schedule, ConfigErrors& errors) = nullptr;
  // `step` is the global step before this step's update, s64[].
  Value (*build)(GraphBuilder& b, const proto::Schedule& schedule, Value step);
};

const std::vector<ScheduleDef>& ScheduleList();

// Appends the errors in the schedule. `path` is the path of the schedule ("learning_rate").
void CheckSchedule(const proto::Schedule& schedule, const std::string& path, ConfigErrors& errors);

// The learning rate, f32[], of the step with number `global_step` (s64[], 0 for the first step).
// The schedule must have passed CheckSchedule.
Value LearningRate(GraphBuilder& b, const proto::Schedule& schedule, Value global_step);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPTIMIZERS_SCHEDULES_H_
