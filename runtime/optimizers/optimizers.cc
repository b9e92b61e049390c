#include "runtime/optimizers/optimizers.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/name_pattern.h"
#include "runtime/ops/ops.h"
#include "runtime/optimizers/clip.h"
#include "runtime/optimizers/replica_groups.h"
#include "runtime/optimizers/row_gradients.h"
#include "runtime/optimizers/schedules.h"

namespace tpurun {

std::string KindOf(const proto::Optimizer& optimizer) {
  const google::protobuf::FieldDescriptor* kind = ChosenKind(optimizer);
  return kind == nullptr ? "" : kind->name();
}

ConfigErrors CheckOptimizer(const proto::Optimizer& optimizer, int num_replicas) {
  ConfigErrors errors;
  ChooseRow(OptimizerList(), optimizer, "optimizer", "", errors);
  if (optimizer.has_learning_rate()) {
    CheckSchedule(optimizer.learning_rate(), "learning_rate", errors);
  }
  CheckGroups(optimizer.cross_shard().group_assignment(), num_replicas,
              "cross_shard.group_assignment", errors);
  for (const NamePatterns& patterns : NamePatternsOf(optimizer)) {
    for (int i = 0; i < patterns.expressions.size(); ++i) {
      const absl::Status status = NamePattern::Parse(patterns.expressions[i]).status();
      if (status.ok()) continue;
      errors.Add(absl::StrCat(patterns.field, "[", i, "]"), std::string(status.message()));
    }
  }
  return errors;
}

std::vector<NamePatterns> NamePatternsOf(const proto::Optimizer& optimizer) {
  std::vector<NamePatterns> all = {{"var_list", optimizer.var_list()}};
  const OptimizerDef* def = FindByName(OptimizerList(), KindOf(optimizer));
  if (def == nullptr || def->name_patterns == nullptr) return all;
  for (const NamePatterns& patterns : def->name_patterns(optimizer)) all.push_back(patterns);
  return all;
}

Reduction CrossShardReduction(const proto::Optimizer& optimizer) {
  switch (optimizer.cross_shard().reduction()) {
    case proto::CrossShard::NONE:
      return Reduction::kNone;
    case proto::CrossShard::SUM:
      return Reduction::kSum;
    case proto::CrossShard::MEAN:
      return Reduction::kMean;
  }
  return Reduction::kMean;
}

namespace {

int AddSlot(GraphBuilder& b, const std::string& name, const Shape& shape, const SlotDef& slot) {
  return b.AddVariable(
      {.name = name,
       .shape = shape,
       .initializer = {.kind = Initializer::Kind::kConstant, .a = slot.initial_value}});
}

std::vector<int> AddScalars(GraphBuilder& b, const OptimizerDef& def,
                            const proto::Optimizer& optimizer) {
  std::vector<int> scalars;
  if (def.scalars == nullptr) return scalars;
  for (const SlotDef& scalar : def.scalars(optimizer)) {
    std::string name = scalar.name;
    for (int i = 1; b.graph().FindVariable(name) >= 0; ++i) {
      name = absl::StrCat(scalar.name, "_", i);
    }
    scalars.push_back(AddSlot(b, name, Shape{DType::kF32, {}}, scalar));
  }
  return scalars;
}

UpdateValues Mapped(const UpdateValues& values, const std::function<Value(Value)>& map) {
  UpdateValues mapped{map(values.variable), {}};
  for (const Value slot : values.slots) mapped.slots.push_back(map(slot));
  return mapped;
}

// An update of rows: with the others' gradient of 0 of the whole, then of those rows.
UpdateValues UpdateOfRows(GraphBuilder& b, const OptimizerDef& def,
                          const proto::Optimizer& optimizer, const UpdateArgs& args,
                          VariableGradient gradient) {
  SumRowsOfAnId(b, gradient);
  UpdateArgs of_rows = args;
  of_rows.old = Mapped(args.old, [&](Value table) { return Gather(b, table, gradient.ids); });
  of_rows.gradient = gradient.gradient;
  const UpdateValues rows = def.update(b, optimizer, of_rows);
  UpdateValues next = args.old;
  if (!def.keeps_without_gradient) {
    UpdateArgs of_others = args;
    of_others.gradient = Scalar(b, 0);
    next = def.update(b, optimizer, of_others);
  }
  next.variable = SetRows(b, next.variable, gradient.ids, rows.variable);
  for (size_t i = 0; i < next.slots.size(); ++i)
    next.slots[i] = SetRows(b, next.slots[i], gradient.ids, rows.slots[i]);
  return next;
}

}  // namespace

absl::Status ApplyGradients(GraphBuilder& b, const proto::Optimizer& optimizer,
                            std::span<const VariableGradient> gradients, Value learning_rate) {
  TPURUN_DCHECK(FindByName(OptimizerList(), KindOf(optimizer)) != nullptr);
  const OptimizerDef& def = *FindByName(OptimizerList(), KindOf(optimizer));
  ScopedName scope(b, optimizer.has_name() ? optimizer.name() : def.name);
  const std::vector<int> scalars = AddScalars(b, def, optimizer);
  std::vector<Value> shared;
  if (def.shared != nullptr) shared = def.shared(b, scalars, learning_rate);
  for (const VariableGradient& entry : gradients) {
    const Variable variable = b.graph().variables()[entry.variable];  // a copy: slots are added
    ScopedName update_scope(b, absl::StrCat("update_", variable.name));
    const ScopedOrigins origins(b, b.OriginsOfUpdate(entry.variable));
    std::vector<int> slots;
    for (const SlotDef& slot : def.slots(optimizer)) {
      slots.push_back(
          AddSlot(b, absl::StrCat(variable.name, "/", slot.name), variable.shape, slot));
    }
    const bool of_rows = entry.ids.valid() && !def.needs_whole_variable;
    const Value gradient = of_rows ? entry.gradient : WholeGradient(b, entry);
    const std::vector<int64_t> dims = of_rows ? variable.shape.dims : b.shape(gradient).dims;
    const auto read = [&](int index) { return Reshape(b, b.Read(index), dims); };
    UpdateArgs args{.name = variable.name,
                    .old = {.variable = read(entry.variable)},
                    .gradient = gradient,
                    .learning_rate = learning_rate,
                    .shared = shared};
    for (const int slot : slots) args.old.slots.push_back(read(slot));
    const UpdateValues next =
        of_rows ? UpdateOfRows(b, def, optimizer, args, entry) : def.update(b, optimizer, args);
    for (size_t i = 0; i < slots.size(); ++i) b.Update(slots[i], next.slots[i]);
    b.Update(entry.variable, next.variable);
  }
  if (def.finish != nullptr) def.finish(b, optimizer, scalars);
  return b.status();
}

}  // namespace tpurun
