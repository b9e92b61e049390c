#include "models/regularization.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/name_pattern.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

bool Check(ModelContext& m, const proto::Regularization::L2& l2, const ConfigPlace& place) {
  bool good = true;
  for (int i = 0; i < l2.exclude_size(); ++i) {
    const absl::Status status = NamePattern::Parse(l2.exclude(i)).status();
    if (status.ok()) continue;
    m.errors.Add(place, absl::StrCat("exclude[", i, "]"), std::string(status.message()));
    good = false;
  }
  m.CheckMatches(place, "exclude", l2.exclude());
  return good;
}

}  // namespace

std::vector<Value> RegularizationLosses(ModelContext& m) {
  if (!m.spec.regularization().has_l2()) return {};
  const proto::Regularization::L2& l2 = m.spec.regularization().l2();
  if (!Check(m, l2, {"regularization", "model.regularization.l2"}) || l2.scale() == 0) return {};
  GraphBuilder& b = m.b;
  ScopedName scope(b, "regularization");
  const ScopedOrigins origins(b, kLossOrigin, NodeOrigin::Phase::kForward);
  std::vector<Value> losses;
  for (int i = 0; i < std::ssize(b.graph().variables()); ++i) {
    const Variable& variable = b.graph().variables()[i];
    if (!variable.trainable || MatchesAny(l2.exclude(), variable.name)) continue;
    const Value value = b.Read(i);
    const bool scalar = variable.shape.rank() == 0;
    losses.push_back(L2LossOfRows(b, scalar ? Reshape(b, value, {1}) : value, l2.scale()));
  }
  return losses;
}

}  // namespace tpurun
