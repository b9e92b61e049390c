#include "cli/results.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tpurun {
namespace {

Json CheckpointJson(const std::string& prefix) { return prefix.empty() ? Json() : Json(prefix); }

Json MetricJson(const MetricValue& value) {
  return JsonNested(value.dims, [&values = value.values](int64_t i) {
    return JsonNumber(values[static_cast<size_t>(i)]);
  });
}

void AddStep(const TrainResult::Step& step, Json& json) {
  json["loss"] = JsonNumber(static_cast<float>(step.loss));
  json["loss_shard_0"] = JsonNumber(step.loss_shard_0);
  for (const auto& [tag, rate] : step.learning_rates) json[tag] = JsonNumber(rate);
}

}  // namespace

Json MetricsJson(const std::vector<std::pair<std::string, MetricValue>>& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = MetricJson(value);
  return json;
}

Json TrainResultJson(const TrainResult& result) {
  Json json;
  if (result.skipped) {
    json["skipped"] = true;
    json["global_step"] = result.global_step;
    json["checkpoint"] = CheckpointJson(result.checkpoint);
  } else {
    json["global_step"] = result.global_step;
    if (result.last_step.has_value()) AddStep(*result.last_step, json);
    json["checkpoint"] = CheckpointJson(result.checkpoint);
    json["steps"] = result.steps;
    json["seconds"] = JsonNumber(static_cast<float>(result.seconds));
    json["examples_per_second"] = JsonNumber(static_cast<float>(result.examples_per_second));
  }
  if (result.stopped_early) json["stopped"] = "early";
  if (!result.best.has_value()) return json;
  json["best_step"] = result.best->step;
  json["best_checkpoint"] = CheckpointJson(result.best->checkpoint);
  json["best_metrics"] = MetricsJson(result.best->metrics);
  return json;
}

Json EvaluationJson(const Evaluation& evaluation, bool one_of_several) {
  Json json;
  if (one_of_several) json["name"] = evaluation.name;
  json["global_step"] = evaluation.global_step;
  json["checkpoint"] = evaluation.checkpoint.has_value() ? Json(*evaluation.checkpoint) : Json();
  json["examples"] = evaluation.examples;
  for (const auto& [name, value] : evaluation.metrics) {
    json[name] = MetricJson(value);
    if (name == "loss" && evaluation.loss_shard_0.has_value()) {
      json["loss_shard_0"] = JsonNumber(*evaluation.loss_shard_0);
    }
  }
  // The rows and columns of arrays of as many.
  for (const auto& [name, classes] : evaluation.class_names) {
    const auto is_of_classes = [count = std::ssize(classes)](const auto& metric) {
      const std::vector<int64_t>& dims = metric.second.dims;
      return std::find(dims.begin(), dims.end(), count) != dims.end();
    };
    const bool any_of_classes =
        std::any_of(evaluation.metrics.begin(), evaluation.metrics.end(), is_of_classes);
    if (!any_of_classes || json.contains(name)) continue;
    for (const std::string& text : classes) json[name].push_back(JsonBytes(text));
  }
  return json;
}

}  // namespace tpurun
