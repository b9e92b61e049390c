#include "cli/numerics_findings.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// DEFAULT follows the reference if the means of the last tenth of the losses are at most so far
// apart, or as far as another seed or another rounding of f32 makes them: below a hundredth nobody
// sees a difference between curves.
constexpr double kFollows = 0.01;
// A variable's gradient differs above a tenth of its norm: it then has a cosine of 0.995 with the
// reference. The rounding of bf16 alone makes some hundredths in deep models. If HIGHEST, which is
// as exact as f32, differs as much, the gradient is noise: 0 but for rounding, as that of a bias
// that a softmax or a normalization takes out again.
constexpr double kGradientDiffers = 0.1;
// A gradient underflows if more than a hundredth of its elements are flushed to zero.
constexpr double kUnderflows = 0.01;

// The largest share of flushed elements in a step.
double FlushedShare(const VariableNumerics& variable) {
  double flushed = 0;
  for (const GradientNumbers& step : variable.steps)
    flushed = std::max(flushed, ShareOf(step.flushed, step.elements));
  return flushed;
}

bool IsZero(const VariableNumerics& variable) {
  const auto is_zero = [](const GradientNumbers& step) { return step.zeros == step.elements; };
  return !variable.steps.empty() &&
         std::all_of(variable.steps.begin(), variable.steps.end(), is_zero);
}

// The cheapest precision that helps. HIGHEST does, for the gradient is no noise.
std::string PrecisionThatHelps(const VariableNumerics& variable, double by_storage) {
  const double high = NumericsFindings::Difference(variable, kNumericsHigh).value_or(0);
  const bool helps = high <= std::max(kGradientDiffers, 2 * by_storage);
  return absl::StrCat("model: matmul_precision: ", helps ? kNumericsHigh : kNumericsHighest);
}

}  // namespace

std::string ShareText(double share) {
  if (std::isnan(share)) return "NaN";
  if (share == 0) return "0 %";
  return share < 1 ? absl::StrFormat("%.2g %%", 100 * share)
                   : absl::StrFormat("%.0f %%", 100 * share);
}

double ShareOf(int64_t part, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

NumericsFindings::NumericsFindings(const NumericsPlan& plan, const Numerics& numerics)
    : plan_(plan), numerics_(numerics) {
  for (const TrainingLosses& training : numerics.trainings) losses_[training.name] = &training;
  for (const VariableNumerics& variable : numerics.variables) AddOf(variable);
  Sort();
}

void NumericsFindings::Sort() {
  std::stable_sort(list_.begin(), list_.end(),
                   [](const auto& x, const auto& y) { return x.share > y.share; });
}

void NumericsFindings::AddStorage(const Numerics& layers) {
  std::set<std::string> noise;
  for (const VariableNumerics& variable : numerics_.variables)
    if (IsNoise(variable)) noise.insert(variable.name);
  // The variable whose gradient a training changes most.
  const auto worst_of = [&](const std::vector<VariableNumerics>& variables,
                            const std::string& training) {
    NumericsFinding worst = {.reason = NumericsReason::kStorage};
    for (const VariableNumerics& variable : variables) {
      const double share = Difference(variable, training).value_or(0);
      if (noise.count(variable.name) > 0 || !(share > worst.share)) continue;
      worst.variable = variable.name;
      worst.share = share;
    }
    return worst;
  };
  bool found = false;
  for (const TrainingLosses& training : layers.trainings) {
    NumericsFinding worst = worst_of(layers.variables, training.name);
    if (worst.share <= kGradientDiffers) continue;
    worst.layer = training.name;
    worst.write = absl::StrCat("layer ", Quote(training.name), ": dtype: FLOAT32");
    list_.push_back(std::move(worst));
    found = true;
  }
  if (!found) {
    NumericsFinding all = worst_of(numerics_.variables, kNumericsF32);
    all.write = "model: compute_dtype: FLOAT32 (no layer alone is the cause)";
    list_.push_back(std::move(all));
  }
  Sort();
}

void NumericsFindings::AddOf(const VariableNumerics& variable) {
  const auto add = [&](NumericsReason reason, double share, std::string write) {
    list_.push_back({variable.name, variable.layer, reason, share, std::move(write)});
  };
  if (!IsNoise(variable)) {
    const double by_default = Difference(variable, kNumericsDefault).value_or(0);
    // Without storage in bf16 F32 is the reference.
    const double by_storage = Difference(variable, kNumericsF32).value_or(0);
    storage_differs_ = storage_differs_ || by_storage > kGradientDiffers;
    if (by_default > kGradientDiffers && by_default > 2 * by_storage)
      add(NumericsReason::kProducts, by_default, PrecisionThatHelps(variable, by_storage));
  }
  if (const double flushed = FlushedShare(variable); flushed > kUnderflows) {
    add(NumericsReason::kUnderflow, flushed, "a larger weight of the loss");
  } else if (IsZero(variable)) {
    add(NumericsReason::kZero, 1, "a larger weight of the loss, if it is below 2^-126");
  }
}

double NumericsFindings::FromReference(const std::string& name) const {
  return RelativeDifference(MeanOfLastTenth(losses(name).losses),
                            MeanOfLastTenth(reference().losses));
}

double NumericsFindings::GreatestDifference(const std::string& name) const {
  double greatest = 0;
  for (int64_t step = 0; step < numerics_.steps; ++step) {
    const double of_step = RelativeDifference(losses(name).losses[step], reference().losses[step]);
    if (of_step > greatest) greatest = of_step;
  }
  return greatest;
}

bool NumericsFindings::follows() const {
  double allowed = kFollows;
  for (const std::string& name : {plan_.other_seed, plan_.highest}) {
    const double spread = FromReference(name);
    if (std::isfinite(spread)) allowed = std::max(allowed, spread);
  }
  return FromReference(kNumericsDefault) <= allowed;
}

std::string NumericsFindings::Verdict() const {
  const std::string& of = plan_.reference;
  if (!reference_is_finite()) {
    return absl::StrCat(of, " has a NaN or an infinity itself (", reference().not_finite,
                        "): no precision is the cause; lower the learning rate or mend the model");
  }
  if (const std::string& why = losses(kNumericsDefault).not_finite; !why.empty()) {
    return absl::StrCat("DEFAULT differs from ", of, ": it has a NaN or an infinity (", why,
                        "), and ", of, " has none");
  }
  std::string spread = absl::StrCat("another seed: ", ShareText(FromReference(plan_.other_seed)));
  if (const double rounding = FromReference(plan_.highest); std::isfinite(rounding))
    absl::StrAppend(&spread, ", HIGHEST: ", ShareText(rounding));
  const int64_t last = LastTenth(numerics_.steps);
  return absl::StrCat("DEFAULT ", follows() ? "follows " : "differs from ", of, ": the last ",
                      last == 1 ? "loss is " : absl::StrCat(last, " losses are "),
                      ShareText(FromReference(kNumericsDefault)), " apart (", spread, ")");
}

std::optional<double> NumericsFindings::Difference(const VariableNumerics& variable,
                                                   const std::string& training) {
  const auto found = variable.differences.find(training);
  if (found == variable.differences.end()) return std::nullopt;
  return found->second == 0 ? 0 : found->second / variable.norm;
}

bool NumericsFindings::IsNoise(const VariableNumerics& variable) const {
  return Difference(variable, plan_.highest).value_or(0) > kGradientDiffers;
}

std::vector<const VariableNumerics*> NumericsFindings::WorstFirst() const {
  std::vector<const VariableNumerics*> sorted;
  for (const VariableNumerics& variable : numerics_.variables) sorted.push_back(&variable);
  const auto key = [&](const VariableNumerics* variable) {
    const double difference = Difference(*variable, kNumericsDefault).value_or(0);
    const bool last = IsNoise(*variable) || std::isnan(difference);
    return std::pair(FlushedShare(*variable), last ? -1 : difference);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* x, const auto* y) { return key(x) > key(y); });
  return sorted;
}

}  // namespace tpurun
