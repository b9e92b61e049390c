// The optimizers, one paragraph each, and their table. w is the variable, g its gradient, eta the
// learning rate; primed values are those after the step.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"
#include "runtime/ops/ops.h"
#include "runtime/optimizers/checks.h"
#include "runtime/optimizers/optimizers.h"

namespace tpurun {
namespace {

using proto::Optimizer;

void NothingToCheck(const Optimizer&, ConfigErrors&) {}

// ---- adagrad (Duchi, Hazan, Singer 2011): G' = G + g^2, w' = w - eta g / sqrt(G').
// ApplyAdagrad multiplies (g * eta) by 1 / sqrt(G').

void CheckAdagrad(const Optimizer& optimizer, ConfigErrors& errors) {
  WantPositive("adagrad.initial_accumulator_value", optimizer.adagrad().initial_accumulator_value(),
               errors);
}

std::vector<SlotDef> AdagradSlots(const Optimizer& optimizer) {
  return {{"Adagrad", optimizer.adagrad().initial_accumulator_value()}};
}

UpdateValues AdagradUpdate(GraphBuilder& b, const Optimizer&, const UpdateArgs& args) {
  const Value accumulated = Add(b, args.old.slots[0], Square(b, args.gradient));
  const Value scaled = Mul(b, args.gradient, args.learning_rate);
  return {Sub(b, args.old.variable, Mul(b, scaled, Rsqrt(b, accumulated))), {accumulated}};
}

// ---- adam (Kingma, Ba 2015, with its "epsilon hat"): t counts the steps from 1,
// eta_t = eta sqrt(1 - beta2^t) / (1 - beta1^t), m' = m + (g - m) (1 - beta1),
// v' = v + (g^2 - v) (1 - beta2), w' = w - m' eta_t / (sqrt(v') + epsilon).
// beta1_power and beta2_power hold beta1^t and beta2^t, multiplied on after the updates.

void CheckAdam(const Optimizer& optimizer, ConfigErrors& errors) {
  const proto::Adam& adam = optimizer.adam();
  WantShare("adam.beta1", adam.beta1(), errors);
  WantShare("adam.beta2", adam.beta2(), errors);
  WantPositive("adam.epsilon", adam.epsilon(), errors);
}

std::vector<SlotDef> AdamSlots(const Optimizer&) { return {{"Adam", 0.0}, {"Adam_1", 0.0}}; }

std::vector<SlotDef> AdamScalars(const Optimizer& optimizer) {
  return {{"beta1_power", optimizer.adam().beta1()}, {"beta2_power", optimizer.adam().beta2()}};
}

Value AdamRate(GraphBuilder& b, const std::vector<int>& scalars, Value learning_rate) {
  const Value one = Scalar(b, 1);
  const Value corrected = Mul(b, learning_rate, Sqrt(b, Sub(b, one, b.Read(scalars[1]))));
  return Div(b, corrected, Sub(b, one, b.Read(scalars[0])));
}

UpdateValues AdamUpdate(GraphBuilder& b, const Optimizer& optimizer, const UpdateArgs& args) {
  const proto::Adam& adam = optimizer.adam();
  const Value old_m = args.old.slots[0], old_v = args.old.slots[1];
  const Value m =
      Add(b, old_m, Mul(b, Sub(b, args.gradient, old_m), Scalar(b, 1.0f - adam.beta1())));
  const Value v = Add(
      b, old_v, Mul(b, Sub(b, Square(b, args.gradient), old_v), Scalar(b, 1.0f - adam.beta2())));
  const Value step =
      Div(b, Mul(b, m, args.learning_rate), Add(b, Sqrt(b, v), Scalar(b, adam.epsilon())));
  return {Sub(b, args.old.variable, step), {m, v}};
}

void AdamFinish(GraphBuilder& b, const Optimizer& optimizer, const std::vector<int>& scalars) {
  b.Update(scalars[0], Mul(b, b.Read(scalars[0]), Scalar(b, optimizer.adam().beta1())));
  b.Update(scalars[1], Mul(b, b.Read(scalars[1]), Scalar(b, optimizer.adam().beta2())));
}

// ---- gradient_descent: w' = w - eta g

std::vector<SlotDef> NoSlots(const Optimizer&) { return {}; }

UpdateValues GradientDescentUpdate(GraphBuilder& b, const Optimizer&, const UpdateArgs& args) {
  return {Sub(b, args.old.variable, Mul(b, args.gradient, args.learning_rate)), {}};
}

// ---- momentum (Polyak 1964): a' = mu a + g, w' = w - eta a'.
// use_nesterov (Sutskever et al. 2013): w' = w - (eta g + eta mu a').

void CheckMomentum(const Optimizer& optimizer, ConfigErrors& errors) {
  if (!optimizer.momentum().has_momentum()) {
    errors.Add("momentum.momentum", "momentum is missing, want a number in [0, 1)");
    return;
  }
  WantShare("momentum.momentum", optimizer.momentum().momentum(), errors);
}

std::vector<SlotDef> MomentumSlots(const Optimizer&) { return {{"Momentum", 0.0}}; }

UpdateValues MomentumUpdate(GraphBuilder& b, const Optimizer& optimizer, const UpdateArgs& args) {
  const Value mu = Scalar(b, optimizer.momentum().momentum());
  const Value accumulated = Add(b, Mul(b, args.old.slots[0], mu), args.gradient);
  Value step = Mul(b, accumulated, args.learning_rate);
  if (optimizer.momentum().use_nesterov()) {
    step = Add(b, Mul(b, args.gradient, args.learning_rate),
               Mul(b, Mul(b, accumulated, mu), args.learning_rate));
  }
  return {Sub(b, args.old.variable, step), {accumulated}};
}

// ---- rms_prop (Tieleman, Hinton 2012): s' = s + (g^2 - s) (1 - rho), s starting at 1,
// a' = mu a + eta g / sqrt(s' + epsilon), w' = w - a'.
// centered (Graves 2013): c' = c + (g - c) (1 - rho), and s' - c'^2 for s' below the root.

void CheckRmsProp(const Optimizer& optimizer, ConfigErrors& errors) {
  const proto::RmsProp& rms_prop = optimizer.rms_prop();
  WantShare("rms_prop.decay", rms_prop.decay(), errors);
  WantShare("rms_prop.momentum", rms_prop.momentum(), errors);
  WantPositive("rms_prop.epsilon", rms_prop.epsilon(), errors);
}

std::vector<SlotDef> RmsPropSlots(const Optimizer& optimizer) {
  if (optimizer.rms_prop().centered())
    return {{"RMSProp", 1.0}, {"RMSProp_1", 0.0}, {"RMSProp_2", 0.0}};
  return {{"RMSProp", 1.0}, {"RMSProp_1", 0.0}};
}

UpdateValues RmsPropUpdate(GraphBuilder& b, const Optimizer& optimizer, const UpdateArgs& args) {
  const proto::RmsProp& rms_prop = optimizer.rms_prop();
  const Value share = Scalar(b, 1.0f - rms_prop.decay());
  UpdateValues next = args.old;
  // The moving mean in a slot, with x in it.
  const auto mean = [&](int slot, Value x) {
    const Value old = args.old.slots[slot];
    return next.slots[slot] = Add(b, old, Mul(b, Sub(b, x, old), share));
  };
  Value spread = mean(0, Square(b, args.gradient));
  if (rms_prop.centered()) spread = Sub(b, spread, Square(b, mean(1, args.gradient)));
  const Value scaled = Div(b, Mul(b, args.gradient, args.learning_rate),
                           Sqrt(b, Add(b, spread, Scalar(b, rms_prop.epsilon()))));
  Value& step = next.slots.back();
  step = Add(b, Mul(b, step, Scalar(b, rms_prop.momentum())), scaled);
  next.variable = Sub(b, next.variable, step);
  return next;
}

}  // namespace

const std::vector<OptimizerDef>& OptimizerList() {
  static const std::vector<OptimizerDef>& list = *new std::vector<OptimizerDef>{
      {.name = "adagrad",
       .fields = {"initial_accumulator_value"},
       .check = CheckAdagrad,
       .slots = AdagradSlots,
       .update = AdagradUpdate,
       .keeps_without_gradient = true},
      {.name = "adam",
       .fields = {"beta1", "beta2", "epsilon"},
       .check = CheckAdam,
       .slots = AdamSlots,
       .update = AdamUpdate,
       .scalars = AdamScalars,
       .rate = AdamRate,
       .finish = AdamFinish},
      {.name = "gradient_descent",
       .fields = {},
       .check = NothingToCheck,
       .slots = NoSlots,
       .update = GradientDescentUpdate,
       .keeps_without_gradient = true},
      {.name = "momentum",
       .fields = {"momentum", "use_nesterov"},
       .check = CheckMomentum,
       .slots = MomentumSlots,
       .update = MomentumUpdate},
      {.name = "rms_prop",
       .fields = {"decay", "momentum", "epsilon", "centered"},
       .check = CheckRmsProp,
       .slots = RmsPropSlots,
       .update = RmsPropUpdate},
  };
  return list;
}

}  // namespace tpurun
