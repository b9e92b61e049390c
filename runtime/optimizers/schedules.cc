#include "runtime/optimizers/schedules.h"

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"

namespace tpurun {

void CheckSchedule(const proto::Schedule& schedule, const std::string& path, ConfigErrors& errors) {
  const ScheduleDef* def = ChooseRow(ScheduleList(), schedule, "schedule", path, errors);
  if (def == nullptr) return;
  ConfigErrors found;
  if (def->check != nullptr) def->check(schedule, found);
  errors.Add({"", path}, found);
}

Value LearningRate(GraphBuilder& b, const proto::Schedule& schedule, Value global_step) {
  ConfigErrors errors;
  CheckSchedule(schedule, "learning_rate", errors);
  if (!errors.empty()) {
    return b.Fail(absl::InvalidArgumentError(
        absl::StrCat(errors.all().front().path, ": ", errors.all().front().message)));
  }
  ScopedName scope(b, "learning_rate");
  return FindByName(ScheduleList(), ChosenKind(schedule)->name())->build(b, schedule, global_step);
}

}  // namespace tpurun
