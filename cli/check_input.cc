#include "cli/check_input.h"

#include "proto/source_locations.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/step_graph.h"
#include "runtime/session/call_input_fn.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

// Whether all that the model declares of its features could be read.
bool KnowsFeatures(const proto::ModelSpec& model, const ConfigErrors& errors) {
  const auto knows = [&](const std::string& path) {
    return !errors.IsIgnored(FieldPath(path, "name")) &&
           !errors.IsIgnored(FieldPath(path, "dtype")) &&
           !errors.IsIgnored(FieldPath(path, "shape"));
  };
  bool all = true;
  for (int i = 0; i < model.feature_size(); ++i) all &= knows(ElementPath("model.feature", i));
  for (int i = 0; i < model.label_size(); ++i) all &= knows(ElementPath("model.label", i));
  return all;
}

}  // namespace

ModelFnArgs TargetOf(const proto::RunConfig& run) {
  return {.topology = TopologyOf(run),
          .use_tpu = run.use_tpu(),
          .strict_dtypes = run.strict_dtypes(),
          .device_replicas = DeviceOf(run).num_replicas()};
}

void CheckModeInput(const LoadedConfig& config, const std::vector<FeatureSpec>& features,
                    const ModeInput& input, const InputPlan& plan, ConfigErrors& errors) {
  const int64_t batch_size = BatchSizeOf(config.run, input.mode);
  if (batch_size <= 0 || !KnowsFeatures(config.model, errors)) return;  // it is reported
  InputFnArgs args = ArgsOfPipeline(
      DeployInput(config.run.tpu_config(), TopologyOf(config.run, input.mode), input.mode,
                  batch_size),
      {.mode = input.mode,
       .features = features,
       .count_examples = input.mode == ModeKey::kTrain && config.run.train().has_epochs()});
  if (input.mode == ModeKey::kPredict) {
    const auto& forward = config.run.predict().forward_features();
    args.forward_features = {forward.begin(), forward.end()};
  }
  InputSource source;
  source.endless = CheckInput(plan, args, errors);
  if (input.evaluation == nullptr) return;
  const absl::Status ends = CheckEnds(source, *input.evaluation);
  if (!ends.ok()) errors.Add(input.path, std::string(ends.message()));
}

}  // namespace tpurun
