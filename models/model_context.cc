#include "models/model_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/text.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

// True for what evaluate prints besides metrics.
bool IsKeyOfResult(const std::string& name) {
  return name == "checkpoint" || name == "examples" || name == "loss_shard_0" || name == "name";
}

}  // namespace

const Tensor* ModelContext::Argument(const ConfigPlace& place, const std::string& field,
                                     const std::string& name, bool or_of_head) {
  const std::string argument = field.substr(field.rfind('.') + 1);
  if (name.empty()) {
    errors.Add(place, field, absl::StrCat(argument, " is missing"));
    return nullptr;
  }
  const Tensor* const tensor = tensors.Find("", name);
  const auto given = head_predictions.find(name);
  if (or_of_head && given != head_predictions.end()) {
    if (tensor == nullptr) return &given->second;
    if (!tensor->known() || tensor->value == given->second.value) return tensor;
    errors.Add(place, field,
               absl::StrCat(argument, ": ", Quote(name),
                            " is a feature, label or layer, and another value is the prediction ",
                            Quote(name), " of a head; give one of them another name"));
    return nullptr;
  }
  if (tensor != nullptr) return tensor;
  if (or_of_head && !heads_complete) return nullptr;  // it may be the name of what is left out
  std::vector<std::string> names = tensors.Names();
  if (or_of_head) {
    for (const auto& [known, of_head] : head_predictions) names.push_back(known);
  }
  errors.Add(
      place, field,
      IsReservedName(name)
          ? absl::StrCat(argument, ": ", Quote(name), " cannot be read here")
          : absl::StrCat(argument, ": nothing is called ", Quote(name), DidYouMean(name, names)));
  return nullptr;
}

void ModelContext::RequireName(const ConfigPlace& place, NameKind kind, const std::string& name) {
  if (kind == NameKind::kKey && name.empty()) return;
  const absl::Status checked = CheckName(kind, name);
  if (!checked.ok()) errors.Add(place, "name", std::string(checked.message()));
}

void ModelContext::CheckMatches(
    const ConfigPlace& place, const std::string& field,
    const google::protobuf::RepeatedPtrField<std::string>& expressions) {
  std::vector<std::string> names;
  for (const Variable& variable : b.graph().variables()) {
    if (variable.name != kGlobalStep) names.push_back(variable.name);
  }
  for (int i = 0; i < expressions.size(); ++i) {
    const absl::StatusOr<NamePattern> pattern = NamePattern::Parse(expressions.Get(i));
    const auto matches = [&](const std::string& name) { return pattern->Matches(name); };
    if (!pattern.ok() || std::any_of(names.begin(), names.end(), matches)) continue;
    errors.Add(place, absl::StrCat(field, "[", i, "]"), MatchesNone(expressions.Get(i), names));
  }
}

void ModelContext::AddPrediction(const ConfigPlace& place, const std::string& name, Value value) {
  if (name.empty()) {
    errors.Add(place, "name", "name is missing");
    return;
  }
  RequireName(place, NameKind::kKey, name);
  const auto [first, added] = prediction_places.insert({name, place});
  if (!added) {
    errors.Add(place, "",
               absl::StrCat("there is a prediction ", Quote(name), " already, from ",
                            first->second.subject, "; give one of them another name"));
    return;
  }
  if (value.valid()) predictions.push_back({name, value});
}

void ModelContext::AddMetric(const ConfigPlace& place, EvalMetric metric) {
  if (metric.name.empty()) {
    errors.Add(place, "name", "name is missing");
    return;
  }
  if (IsReservedName(metric.name) || IsKeyOfResult(metric.name) ||
      class_names.count(metric.name) > 0) {
    errors.Add(place, "name",
               absl::StrCat("the name ", Quote(metric.name), " is reserved; choose another"));
    return;
  }
  RequireName(place, NameKind::kKey, metric.name);
  if (head_metrics.erase(metric.name) > 0) {
    metric_places.erase(metric.name);
    std::erase_if(metrics, [&](const EvalMetric& other) { return other.name == metric.name; });
  }
  const auto [first, added] = metric_places.insert({metric.name, place});
  if (!added) {
    errors.Add(place, "",
               absl::StrCat("there is a metric ", Quote(metric.name), " already, from ",
                            first->second.subject, "; give one of them another name"));
    return;
  }
  if (!metric.statistics.empty()) metrics.push_back(std::move(metric));
}

void ModelContext::AddHeadMetric(const ConfigPlace& place, EvalMetric metric) {
  const std::string name = metric.name;
  head_metrics.erase(name);  // a second head does not replace the first one's
  AddMetric(place, std::move(metric));
  head_metrics.insert(name);
}

}  // namespace tpurun
