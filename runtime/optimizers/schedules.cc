#include "runtime/optimizers/schedules.h"

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"
#include "runtime/base/dcheck.h"

namespace tpurun {

void CheckSchedule(const proto::Schedule& schedule, const std::string& path, ConfigErrors& errors) {
  const ScheduleDef* def = ChooseRow(ScheduleList(), schedule, "schedule", path, errors);
  if (def == nullptr) return;
  ConfigErrors found;
  if (def->check != nullptr) def->check(schedule, found);
  errors.Add({"", path}, found);
}

Value LearningRate(GraphBuilder& b, const proto::Schedule& schedule, Value global_step) {
  TPURUN_DCHECK(ChosenKind(schedule) != nullptr);
  ScopedName scope(b, "learning_rate");
  return FindByName(ScheduleList(), ChosenKind(schedule)->name())->build(b, schedule, global_step);
}

}  // namespace tpurun
