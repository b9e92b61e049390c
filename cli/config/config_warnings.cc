#include "cli/config/config_warnings.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/iterations_per_loop.h"
#include "runtime/base/metric_mode.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// `stops_every` steps a loop ends too, 0: not.
void WarnOfLongLoops(const proto::RunConfig& run, int64_t stops_every, ConfigErrors& errors) {
  const absl::StatusOr<IterationsPerLoop> loops =
      ParseIterationsPerLoop(run.tpu_config().iterations_per_loop());
  if (!loops.ok() || loops->steps == 0) return;
  const auto check = [&](const std::string& name, bool given, int64_t period) {
    if (!given || period <= 0 || period % loops->steps == 0) return;
    if (stops_every > 0 && period % stops_every == 0) return;
    if (run.train().max_steps() == period && period < loops->steps) return;  // the last loop ends
    int64_t kept = 0;
    const bool beyond = __builtin_mul_overflow(period / loops->steps + 1, loops->steps, &kept);
    if (beyond) return;  // no training has so many steps
    errors.Warn({.path = name}, "",
                absl::StrCat(name, " is ", period, ", but loops of ", loops->steps,
                             " steps (tpu_config.iterations_per_loop) make it ", kept,
                             "; want loops that divide it, such as ",
                             std::gcd(period, loops->steps), ", or ", name, ": ", kept));
  };
  check("save_checkpoints_steps", run.has_save_checkpoints_steps(), run.save_checkpoints_steps());
  check("save_summary_steps", run.has_save_summary_steps(), run.save_summary_steps());
  check("log_step_count_steps", run.has_log_step_count_steps(), run.log_step_count_steps());
}

using Transforms = google::protobuf::RepeatedPtrField<proto::Transform>;

// True if one of the transforms, or of those that they apply, normalizes the feature. `depth`: of
// the functions that may apply one another; a circle is reported elsewhere.
bool Normalizes(const Transforms& transforms, const proto::RunConfig& run,
                const std::string& feature, int depth) {
  const auto normalizes = [&](const proto::Transform& transform) {
    const auto& features = transform.normalize().feature();
    if (std::find(features.begin(), features.end(), feature) != features.end()) return true;
    if (!transform.has_apply() || depth == 0) return false;
    for (const proto::NamedTransforms& function : run.transformation_func()) {
      if (function.name() != transform.apply().transformation_func()) continue;
      return Normalizes(function.transform(), run, feature, depth - 1);
    }
    return false;
  };
  return std::any_of(transforms.begin(), transforms.end(), normalizes);
}

}  // namespace

void WarnOfNormalizedLabels(const proto::RunConfig& run, const proto::ModelSpec& model,
                            ConfigErrors& errors) {
  constexpr int kDepth = 8;
  for (int i = 0; i < model.head_size(); ++i) {
    const std::string& label = model.head(i).regression().label();
    if (label.empty() || !Normalizes(run.train().input().transform(), run, label, kDepth)) continue;
    errors.Warn(
        {absl::StrCat("head ", i), absl::StrCat("model.head[", i, "]")}, "regression.label",
        absl::StrCat("the input normalizes ", Quote(label),
                     ": predictions and metrics are in units of its stddev; want label_mean "
                     "and label_stddev of the head in place of normalize, which keep the "
                     "unit of the label"));
  }
}

void WarnOfMonitor(const proto::RunConfig& run, ConfigErrors& errors) {
  const proto::Monitor& monitor = run.train_and_evaluate().monitor();
  if (monitor.has_mode() || ModeOfTag(monitor.metric()) != MetricMode::kMax) return;
  errors.Warn(
      {"train_and_evaluate.monitor", "train_and_evaluate.monitor"}, "metric",
      absl::StrCat("without a mode the checkpoint with the lowest ", Quote(monitor.metric()),
                   " is the best; want mode: MAX for the highest"));
}

void WarnOfConfig(const proto::RunConfig& run, bool trains, bool alternates, ConfigErrors& errors) {
  if (!run.use_tpu() && run.has_eval_on_tpu()) {
    errors.Warn({.path = "eval_on_tpu"}, "",
                absl::StrCat("eval_on_tpu: ", run.eval_on_tpu() ? "true" : "false",
                             " is ignored, for use_tpu is false; leave it out"));
  }
  const int64_t stops_every = alternates ? run.train_and_evaluate().steps_per_eval() : 0;
  if (trains) WarnOfLongLoops(run, stops_every, errors);
}

}  // namespace tpurun
