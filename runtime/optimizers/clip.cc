#include "runtime/optimizers/clip.h"

#include "runtime/ops/ops.h"
#include "runtime/optimizers/norm.h"
#include "runtime/optimizers/row_gradients.h"

namespace tpurun {
namespace {

// ---- clip_by_value: max(min(g, c), -c)

void ClipByValue(GraphBuilder& b, Value most, std::vector<VariableGradient>& gradients) {
  for (VariableGradient& one : gradients) {
    one.gradient = Maximum(b, Minimum(b, one.gradient, most), Neg(b, most));
  }
}

// ---- clip_by_norm: g c / max(|g|, c)

void ClipByNorm(GraphBuilder& b, Value most, std::vector<VariableGradient>& gradients) {
  for (VariableGradient& one : gradients) {
    const Value norm = Sqrt(b, SquaredNorm(b, one.gradient));
    one.gradient = Div(b, Mul(b, one.gradient, most), Maximum(b, norm, most));
  }
}

// ---- clip_by_global_norm: g c min(1 / n, 1 / c), n the norm of all gradients together; NaN where
// n is not finite.

void ClipByGlobalNorm(GraphBuilder& b, Value most, std::vector<VariableGradient>& gradients) {
  Value squares;
  for (const VariableGradient& one : gradients) {
    const Value own = SquaredNorm(b, one.gradient);
    squares = squares.valid() ? Add(b, squares, own) : own;
  }
  const Value norm = Sqrt(b, squares);
  const Value one = Scalar(b, 1);
  const Value scale = Mul(b, most, Minimum(b, Div(b, one, norm), Div(b, one, most)));
  // 0 of a finite norm, else NaN.
  const Value finite = Sub(b, norm, norm);
  for (VariableGradient& gradient : gradients) {
    gradient.gradient = Mul(b, gradient.gradient, Add(b, scale, finite));
  }
}

const google::protobuf::FieldDescriptor* FieldOf(const ClipDef& def) {
  return proto::Optimizer::descriptor()->FindFieldByName(def.field);
}

}  // namespace

const std::vector<ClipDef>& ClipList() {
  static const std::vector<ClipDef>& list =
      *new std::vector<ClipDef>{{"clip_by_value", ClipByValue},
                                {"clip_by_norm", ClipByNorm},
                                {"clip_by_global_norm", ClipByGlobalNorm}};
  return list;
}

void ClipGradients(GraphBuilder& b, const proto::Optimizer& optimizer,
                   std::vector<VariableGradient>& gradients) {
  const auto& reflection = *optimizer.GetReflection();
  bool summed = false;
  for (const ClipDef& def : ClipList()) {
    if (!reflection.HasField(optimizer, FieldOf(def))) continue;
    ScopedName scope(b, def.field);
    // Of a table's rows the norm is that of the table's gradient.
    if (!summed) {
      for (VariableGradient& gradient : gradients) SumRowsOfAnId(b, gradient);
      summed = true;
    }
    def.clip(b, Scalar(b, reflection.GetFloat(optimizer, FieldOf(def))), gradients);
  }
}

}  // namespace tpurun
