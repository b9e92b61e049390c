// The optimizers, one paragraph each, and their table. w is the variable, g its gradient, eta the
// learning rate. A primed value is the value after the step.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/text.h"
#include "runtime/ops/ops.h"
#include "runtime/optimizers/norm.h"
#include "runtime/optimizers/optimizers.h"

namespace tpurun {
namespace {

using proto::Optimizer;

// ---- adagrad (Duchi, Hazan, Singer 2011): G' = G + g^2, w' = w - eta g / sqrt(G').
// ApplyAdagrad multiplies (g * eta) by 1 / sqrt(G').

std::vector<SlotDef> AdagradSlots(const Optimizer& optimizer) {
  return {{"Adagrad", optimizer.adagrad().initial_accumulator_value()}};
}

UpdateValues AdagradUpdate(GraphBuilder& b, const Optimizer&, const UpdateArgs& args) {
  const Value accumulated = Add(b, args.old.slots[0], Square(b, args.gradient));
  const Value scaled = Mul(b, args.gradient, args.learning_rate);
  return {Sub(b, args.old.variable, Mul(b, scaled, Rsqrt(b, accumulated))), {accumulated}};
}

// ---- what adam, adamw and lamb share: the moving means m' = m + (g - m) (1 - beta1) and
// v' = v + (g^2 - v) (1 - beta2). t counts the steps from 1; beta1_power and beta2_power hold
// beta1^t and beta2^t, multiplied on after the updates.

template <typename Moments>
std::vector<SlotDef> BetaPowers(const Moments& moments) {
  return {{"beta1_power", moments.beta1()}, {"beta2_power", moments.beta2()}};
}

template <typename Moments>
void MultiplyBetaPowers(GraphBuilder& b, const Moments& moments, const std::vector<int>& scalars) {
  b.Update(scalars[0], Mul(b, b.Read(scalars[0]), Scalar(b, moments.beta1())));
  b.Update(scalars[1], Mul(b, b.Read(scalars[1]), Scalar(b, moments.beta2())));
}

// {m', v'} of the slots m, v.
template <typename Moments>
std::vector<Value> MovingMeans(GraphBuilder& b, const Moments& moments, const UpdateArgs& args) {
  const auto mean = [&](Value old, Value x, float beta) {
    return Add(b, old, Mul(b, Sub(b, x, old), Scalar(b, 1.0f - beta)));
  };
  return {mean(args.old.slots[0], args.gradient, moments.beta1()),
          mean(args.old.slots[1], Square(b, args.gradient), moments.beta2())};
}

template <typename Moments>
bool Decays(const Moments& moments, const std::string& variable) {
  return moments.weight_decay_rate() > 0 &&
         !MatchesAny(moments.exclude_from_weight_decay(), variable);
}

// ---- adam (Kingma, Ba 2015, with its "epsilon hat"): eta_t = eta sqrt(1 - beta2^t) /
// (1 - beta1^t), w' = w - m' eta_t / (sqrt(v') + epsilon).
// adamw (Loshchilov, Hutter 2019): the same step, from w - eta lambda w.

// Of a message whose weight decay only adamw may set.
const proto::Adam& AdamOf(const Optimizer& optimizer) {
  return optimizer.has_adamw() ? optimizer.adamw() : optimizer.adam();
}

std::vector<NamePatterns> AdamwPatterns(const Optimizer& optimizer) {
  return {{"adamw.exclude_from_weight_decay", optimizer.adamw().exclude_from_weight_decay()}};
}

std::vector<SlotDef> AdamSlots(const Optimizer&) { return {{"Adam", 0.0}, {"Adam_1", 0.0}}; }

std::vector<SlotDef> AdamScalars(const Optimizer& optimizer) {
  return BetaPowers(AdamOf(optimizer));
}

std::vector<Value> AdamRate(GraphBuilder& b, const std::vector<int>& scalars, Value learning_rate) {
  const Value one = Scalar(b, 1);
  const Value corrected = Mul(b, learning_rate, Sqrt(b, Sub(b, one, b.Read(scalars[1]))));
  return {Div(b, corrected, Sub(b, one, b.Read(scalars[0])))};
}

UpdateValues AdamUpdate(GraphBuilder& b, const Optimizer& optimizer, const UpdateArgs& args) {
  const proto::Adam& adam = AdamOf(optimizer);
  const std::vector<Value> means = MovingMeans(b, adam, args);
  const Value step = Div(b, Mul(b, means[0], args.shared[0]),
                         Add(b, Sqrt(b, means[1]), Scalar(b, adam.epsilon())));
  Value variable = args.old.variable;
  if (Decays(adam, args.name)) {
    const Value share = Mul(b, args.learning_rate, Scalar(b, adam.weight_decay_rate()));
    variable = Sub(b, variable, Mul(b, variable, share));
  }
  return {Sub(b, variable, step), means};
}

void AdamFinish(GraphBuilder& b, const Optimizer& optimizer, const std::vector<int>& scalars) {
  MultiplyBetaPowers(b, AdamOf(optimizer), scalars);
}

// ---- gradient_descent: w' = w - eta g

std::vector<SlotDef> NoSlots(const Optimizer&) { return {}; }

UpdateValues GradientDescentUpdate(GraphBuilder& b, const Optimizer&, const UpdateArgs& args) {
  return {Sub(b, args.old.variable, Mul(b, args.gradient, args.learning_rate)), {}};
}

// ---- lamb (You et al. 2020): r = (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + epsilon)
// + lambda w, w' = w - eta (|w| / |r|) r, where a norm is 0 w' = w - eta r. The norms are of the
// whole variable.

std::vector<NamePatterns> LambPatterns(const Optimizer& optimizer) {
  return {{"lamb.exclude_from_weight_decay", optimizer.lamb().exclude_from_weight_decay()},
          {"lamb.exclude_from_layer_adaptation", optimizer.lamb().exclude_from_layer_adaptation()}};
}

std::vector<SlotDef> LambSlots(const Optimizer&) { return {{"LAMB", 0.0}, {"LAMB_1", 0.0}}; }

std::vector<SlotDef> LambScalars(const Optimizer& optimizer) {
  return BetaPowers(optimizer.lamb());
}

// What the moving means are divided by.
std::vector<Value> LambCorrections(GraphBuilder& b, const std::vector<int>& scalars, Value) {
  const Value one = Scalar(b, 1);
  return {Sub(b, one, b.Read(scalars[0])), Sub(b, one, b.Read(scalars[1]))};
}

bool AdaptsLayer(const proto::Lamb& lamb, const std::string& variable) {
  return !MatchesAny(lamb.exclude_from_layer_adaptation().empty()
                         ? lamb.exclude_from_weight_decay()
                         : lamb.exclude_from_layer_adaptation(),
                     variable);
}

UpdateValues LambUpdate(GraphBuilder& b, const Optimizer& optimizer, const UpdateArgs& args) {
  const proto::Lamb& lamb = optimizer.lamb();
  const std::vector<Value> means = MovingMeans(b, lamb, args);
  Value step = Div(b, Div(b, means[0], args.shared[0]),
                   Add(b, Sqrt(b, Div(b, means[1], args.shared[1])), Scalar(b, lamb.epsilon())));
  if (Decays(lamb, args.name))
    step = Add(b, step, Mul(b, args.old.variable, Scalar(b, lamb.weight_decay_rate())));
  Value rate = args.learning_rate;
  if (AdaptsLayer(lamb, args.name)) {
    const Value of_variable = Sqrt(b, SquaredNorm(b, args.old.variable)),
                of_step = Sqrt(b, SquaredNorm(b, step));
    const Value both = Greater(b, Minimum(b, of_variable, of_step), Scalar(b, 0));
    rate = Mul(b, rate, Select(b, both, Div(b, of_variable, of_step), Scalar(b, 1)));
  }
  return {Sub(b, args.old.variable, Mul(b, step, rate)), means};
}

void LambFinish(GraphBuilder& b, const Optimizer& optimizer, const std::vector<int>& scalars) {
  MultiplyBetaPowers(b, optimizer.lamb(), scalars);
}

// ---- momentum (Polyak 1964): a' = mu a + g, w' = w - eta a'.
// use_nesterov (Sutskever et al. 2013): w' = w - (eta g + eta mu a').

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
       .slots = AdagradSlots,
       .update = AdagradUpdate,
       .keeps_without_gradient = true},
      {.name = "adam",
       .slots = AdamSlots,
       .update = AdamUpdate,
       .scalars = AdamScalars,
       .shared = AdamRate,
       .finish = AdamFinish},
      {.name = "adamw",
       .slots = AdamSlots,
       .update = AdamUpdate,
       .name_patterns = AdamwPatterns,
       .scalars = AdamScalars,
       .shared = AdamRate,
       .finish = AdamFinish},
      {.name = "gradient_descent",
       .slots = NoSlots,
       .update = GradientDescentUpdate,
       .keeps_without_gradient = true},
      {.name = "lamb",
       .slots = LambSlots,
       .update = LambUpdate,
       .name_patterns = LambPatterns,
       .needs_whole_variable = true,
       .scalars = LambScalars,
       .shared = LambCorrections,
       .finish = LambFinish},
      {.name = "momentum", .slots = MomentumSlots, .update = MomentumUpdate},
      {.name = "rms_prop", .slots = RmsPropSlots, .update = RmsPropUpdate},
  };
  return list;
}

}  // namespace tpurun
