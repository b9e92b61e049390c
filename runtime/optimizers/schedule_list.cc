// The schedules, one paragraph each, and their table. eta is the learning rate, t the global step.
#include <numbers>

#include "absl/strings/str_cat.h"
#include "runtime/ops/ops.h"
#include "runtime/optimizers/schedules.h"

namespace tpurun {
namespace {

using proto::Schedule;

// ---- constant: eta = c

Value ConstantRate(GraphBuilder& b, const Schedule& schedule, Value) {
  return Scalar(b, schedule.constant());
}

// ---- exponential_decay: eta = eta_0 * r ^ (t / T); staircase: r ^ floor(t / T).
// tf.train.exponential_decay divides in f32.

Value ExponentialDecay(GraphBuilder& b, const Schedule& schedule, Value step) {
  const proto::ExponentialDecay& decay = schedule.exponential_decay();
  Value periods =
      Div(b, Convert(b, step, DType::kF32), Scalar(b, static_cast<double>(decay.decay_steps())));
  if (decay.staircase()) periods = Floor(b, periods);
  return Mul(b, Scalar(b, decay.initial_learning_rate()),
             Pow(b, Scalar(b, decay.decay_rate()), periods));
}

// ---- polynomial_decay: eta = (eta_0 - eta_T) (1 - min(t, T) / T) ^ p + eta_T; cycle: T times the
// least whole number, 1 or more, with which t <= T. tf.train.polynomial_decay.

Value PolynomialDecay(GraphBuilder& b, const Schedule& schedule, Value step) {
  const proto::PolynomialDecay& decay = schedule.polynomial_decay();
  const Value steps = Scalar(b, static_cast<double>(decay.decay_steps()));
  Value t = Convert(b, step, DType::kF32);
  Value end = steps;
  if (decay.cycle()) {
    const Value periods = Neg(b, Floor(b, Neg(b, Div(b, t, steps))));  // rounded up
    end = Mul(b, steps, Maximum(b, periods, Scalar(b, 1)));
  } else {
    t = Minimum(b, t, steps);
  }
  const Value left = Sub(b, Scalar(b, 1), Div(b, t, end));
  const double range = decay.initial_learning_rate() - decay.end_learning_rate();
  return Add(b, Mul(b, Scalar(b, range), Pow(b, left, Scalar(b, decay.power()))),
             Scalar(b, decay.end_learning_rate()));
}

// ---- cosine_decay: eta = eta_0 ((1 - alpha) (1 + cos(pi min(t, T) / T)) / 2 + alpha).
// tf.train.cosine_decay.

Value CosineDecay(GraphBuilder& b, const Schedule& schedule, Value step) {
  const proto::CosineDecay& decay = schedule.cosine_decay();
  const Value steps = Scalar(b, static_cast<double>(decay.decay_steps()));
  const Value done = Div(b, Minimum(b, Convert(b, step, DType::kF32), steps), steps);
  const Value wave = Cos(b, Mul(b, Scalar(b, std::numbers::pi), done));
  const Value cosine = Mul(b, Scalar(b, 0.5), Add(b, Scalar(b, 1), wave));
  const Value share =
      Add(b, Mul(b, Scalar(b, 1 - decay.alpha()), cosine), Scalar(b, decay.alpha()));
  return Mul(b, Scalar(b, decay.initial_learning_rate()), share);
}

// ---- linear_warmup: eta = s(t) t / T for t < T, s(t) from there on; s is its schedule.

void CheckLinearWarmup(const Schedule& schedule, ConfigErrors& errors) {
  const proto::LinearWarmup& warmup = schedule.linear_warmup();
  if (warmup.has_schedule()) {
    CheckSchedule(warmup.schedule(), "linear_warmup.schedule", errors);
  }
}

Value LinearWarmup(GraphBuilder& b, const Schedule& schedule, Value step) {
  const proto::LinearWarmup& warmup = schedule.linear_warmup();
  const Value rate = LearningRate(b, warmup.schedule(), step);
  const Value done =
      Div(b, Convert(b, step, DType::kF32), Scalar(b, static_cast<double>(warmup.warmup_steps())));
  const Value end = ConstantInt(b, DType::kS64, {}, {warmup.warmup_steps()});
  return Select(b, GreaterEqual(b, step, end), rate, Mul(b, rate, done));
}

// ---- piecewise_constant: eta = v_0 for t <= b_0, v_i for b_(i-1) < t <= b_i, v_n for t > b_(n-1)

void CheckPiecewiseConstant(const Schedule& schedule, ConfigErrors& errors) {
  const proto::PiecewiseConstant& pieces = schedule.piecewise_constant();
  const std::string path = "piecewise_constant";
  if (pieces.values_size() != pieces.boundaries_size() + 1) {
    errors.Add(
        path, absl::StrCat("want one more of values than of boundaries, got ", pieces.values_size(),
                           " values and ", pieces.boundaries_size(), " boundaries"));
  }
  for (int i = 0; i < pieces.boundaries_size(); ++i) {
    if (i == 0 || pieces.boundaries(i) > pieces.boundaries(i - 1)) continue;
    errors.Add(absl::StrCat(path, ".boundaries[", i, "]"),
               absl::StrCat("boundaries must ascend, got ", pieces.boundaries(i), " after ",
                            pieces.boundaries(i - 1)));
  }
}

Value PiecewiseConstant(GraphBuilder& b, const Schedule& schedule, Value step) {
  const proto::PiecewiseConstant& pieces = schedule.piecewise_constant();
  Value rate = Scalar(b, pieces.values(0));
  for (int i = 0; i < pieces.boundaries_size(); ++i) {
    const Value boundary = ConstantInt(b, DType::kS64, {}, {pieces.boundaries(i)});
    rate = Select(b, Greater(b, step, boundary), Scalar(b, pieces.values(i + 1)), rate);
  }
  return rate;
}

}  // namespace

const std::vector<ScheduleDef>& ScheduleList() {
  static const std::vector<ScheduleDef>& list = *new std::vector<ScheduleDef>{
      {.name = "constant", .build = ConstantRate},
      {.name = "cosine_decay", .build = CosineDecay},
      {.name = "exponential_decay", .build = ExponentialDecay},
      {.name = "linear_warmup", .check = CheckLinearWarmup, .build = LinearWarmup},
      {.name = "piecewise_constant", .check = CheckPiecewiseConstant, .build = PiecewiseConstant},
      {.name = "polynomial_decay", .build = PolynomialDecay},
  };
  return list;
}

}  // namespace tpurun
