#include "runtime/optimizers/moving_average.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

constexpr char kAverage[] = "ExponentialMovingAverage";

// 1 - decay, f32[].
Value ShareOfNew(GraphBuilder& b, const proto::MovingAverage& average, Value global_step) {
  Value decay = Scalar(b, average.decay());
  if (average.num_updates_is_global_step()) {
    const Value n = Convert(b, global_step, DType::kF32);
    decay = Minimum(b, decay, Div(b, Add(b, n, Scalar(b, 1)), Add(b, n, Scalar(b, 10))));
  }
  return Sub(b, Scalar(b, 1), decay);
}

}  // namespace

std::string AverageName(const std::string& variable) {
  return absl::StrCat(variable, "/", kAverage);
}

std::string EvaluatedName(const proto::ModelSpec& model, const Variable& variable) {
  const bool averaged = model.has_moving_average() && variable.trainable;
  return averaged ? AverageName(variable.name) : variable.name;
}

void UpdateAverages(GraphBuilder& b, const proto::MovingAverage& average, Value global_step) {
  ScopedName scope(b, kAverage);
  const Value share = ShareOfNew(b, average, global_step);
  std::map<int, Value> updated;
  for (const Update& update : b.graph().updates()) updated[update.variable] = update.value;
  const std::vector<Variable> variables = b.graph().variables();  // a copy: averages are added
  for (int i = 0; i < std::ssize(variables); ++i) {
    if (!variables[i].trainable) continue;
    const int index =
        b.AddVariable({.name = AverageName(variables[i].name), .shape = variables[i].shape});
    if (index < 0) return;  // the builder's status says why
    ScopedName update_scope(b, absl::StrCat("update_", variables[i].name));
    const ScopedOrigins origins(b, b.OriginsOfUpdate(i));
    // In the dimensions that the variable's update is computed in.
    const Value value = updated.count(i) > 0 ? updated[i] : b.Read(i);
    const Value old = Reshape(b, b.Read(index), b.shape(value).dims);
    b.Update(index, Sub(b, old, Mul(b, Sub(b, old, value), share)));
  }
}

}  // namespace tpurun
