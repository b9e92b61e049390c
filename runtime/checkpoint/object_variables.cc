#include "runtime/checkpoint/object_variables.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/object_graph.h"
#include "runtime/ir/shape.h"

namespace tpurun {
namespace {

using Keys = std::map<std::string, std::string>;  // by name of the model's variable

constexpr size_t kShown = 5;
// More ways than one are all the same.
constexpr int kSeveral = 2;

// Of the checkpoint.
struct Saved {
  std::string key;
  std::string full_name;
  std::vector<int64_t> dims;
};

// Variables of one object; of the model those of one scope.
struct Layer {
  std::map<std::string, std::string> variables;  // by last name: the model's name, or the key
  std::string signature;                         // last names and shapes
  std::vector<int64_t> place;                    // the numbers in its keys, from the outermost

  void Add(const std::string& last_name, const std::string& variable,
           const std::vector<int64_t>& dims) {
    variables[last_name] = variable;
    signatures_[last_name] = DimsToString(dims);
    signature = absl::StrJoin(signatures_, " ", absl::PairFormatter(""));
  }

 private:
  std::map<std::string, std::string> signatures_;
};

std::string PathOf(const std::string& key) {
  return std::string(absl::StripSuffix(key, kVariableValue));
}

// Slots, metrics and the counter of saves, which no model has.
bool IsOfTraining(const std::string& path) {
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "optimizer" || part == "_optimizer" || part == ".OPTIMIZER_SLOT" ||
        part == "keras_api" || part == "save_counter") {
      return true;
    }
  }
  return false;
}

// Whatever an optimizer is called, it counts its steps: "opt/_iterations", in older ones
// "opt/iter".
std::vector<std::string> OptimizerPaths(const BundleReader& reader) {
  std::vector<std::string> paths;
  for (const BundleEntry& entry : reader.entries()) {
    const std::string path = PathOf(entry.name), last_name = BaseName(path);
    if (last_name == "_iterations" || last_name == "iter") paths.push_back(DirName(path) + "/");
  }
  return paths;
}

absl::StatusOr<std::vector<Saved>> SavedVariables(const BundleReader& reader,
                                                  const std::set<std::string>& taken) {
  ASSIGN_OR_RETURN(const auto full_names, FullNames(reader));
  const std::vector<std::string> optimizers = OptimizerPaths(reader);
  std::vector<Saved> saved;
  for (const BundleEntry& entry : reader.entries()) {
    const bool of_optimizer = std::any_of(
        optimizers.begin(), optimizers.end(),
        [&](const std::string& optimizer) { return absl::StartsWith(entry.name, optimizer); });
    if (!absl::EndsWith(entry.name, kVariableValue) || entry.dtype != tensorflow::DT_FLOAT ||
        of_optimizer || IsOfTraining(PathOf(entry.name)) || taken.count(entry.name) > 0) {
      continue;
    }
    const auto name = full_names.find(entry.name);
    saved.push_back({entry.name, name == full_names.end() ? "" : name->second, entry.shape});
  }
  return saved;
}

// The model's variable -> the key with its full name, or one scope before it.
std::optional<Keys> ByName(const std::vector<ModelVariable>& model,
                           const std::vector<Saved>& saved) {
  Keys keys;
  for (const ModelVariable& variable : model) {
    std::vector<const Saved*> same, scoped;
    for (const Saved& candidate : saved) {
      if (candidate.full_name == variable.name) same.push_back(&candidate);
      if (absl::EndsWith(candidate.full_name, "/" + variable.name)) scoped.push_back(&candidate);
    }
    const std::vector<const Saved*>& found = same.empty() ? scoped : same;
    if (found.size() != 1 || found[0]->dims != variable.dims) return std::nullopt;
    keys[variable.name] = found[0]->key;
  }
  return keys;
}

std::vector<Layer> LayersOf(const std::vector<ModelVariable>& model) {
  std::vector<Layer> layers;
  std::map<std::string, size_t> of_scope;
  for (const ModelVariable& variable : model) {
    const auto [found, first] = of_scope.emplace(DirName(variable.name), layers.size());
    if (first) layers.emplace_back();
    layers[found->second].Add(BaseName(variable.name), variable.name, variable.dims);
  }
  return layers;
}

// "layer_with_weights-1/layer-0/cell" -> {1, 0}; of a list "variables/7" -> {7}. Of a Bidirectional
// the forward layer is the first one, as in the model.
std::vector<int64_t> PlaceOf(const std::string& path) {
  std::vector<int64_t> place;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "forward_layer") part = "0";
    if (part == "backward_layer") part = "1";
    if (!absl::ConsumePrefix(&part, "layer_with_weights-")) absl::ConsumePrefix(&part, "layer-");
    const std::optional<int64_t> number = ParseInt64({part.data(), part.size()});
    if (number.has_value()) place.push_back(*number);
  }
  return place;
}

// In the order of their places. `ordered`: lists of variables have the order of the layers.
std::vector<Layer> LayersOf(const std::vector<Saved>& saved, bool ordered) {
  std::map<std::string, Layer> of_object;
  for (const Saved& variable : saved) {
    std::string path = PathOf(variable.key);
    std::vector<int64_t> place = PlaceOf(path);
    // An element of a list says nothing of its layer, but its name does.
    if (ParseInt64(BaseName(path)).has_value()) {
      path = variable.full_name;
      if (!ordered) place.clear();
    }
    Layer& layer = of_object[DirName(path)];
    const std::string last_name = BaseName(path);
    if (layer.variables.empty() || place < layer.place) layer.place = place;
    layer.Add(std::string(absl::StripPrefix(last_name, "_")), variable.key, variable.dims);
  }
  std::vector<Layer> layers;
  for (auto& [object, layer] : of_object) layers.push_back(std::move(layer));
  std::stable_sort(layers.begin(), layers.end(),
                   [](const Layer& a, const Layer& b) { return a.place < b.place; });
  return layers;
}

bool AreNumbered(const std::vector<Layer>& layers) {
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].place.empty() || (i > 0 && layers[i].place == layers[i - 1].place)) return false;
  }
  return true;
}

// The layers of `saved` that a layer may be.
std::vector<size_t> Candidates(const Layer& layer, const std::vector<Layer>& saved) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].signature == layer.signature) candidates.push_back(i);
  }
  return candidates;
}

// For each layer the only one of `saved` with its shapes.
std::optional<std::vector<size_t>> ByShapes(const std::vector<Layer>& model,
                                            const std::vector<Layer>& saved) {
  std::vector<size_t> chosen;
  std::set<size_t> distinct;
  for (const Layer& layer : model) {
    const std::vector<size_t> candidates = Candidates(layer, saved);
    if (candidates.size() != 1 || !distinct.insert(candidates[0]).second) return std::nullopt;
    chosen.push_back(candidates[0]);
  }
  return chosen;
}

// The only way to find the layers in `saved` one behind the other, others between them.
std::optional<std::vector<size_t>> ByOrder(const std::vector<Layer>& model,
                                           const std::vector<Layer>& saved) {
  if (!AreNumbered(saved)) return std::nullopt;
  // ways[i][j]: to find the first i layers among the first j of `saved`.
  std::vector<std::vector<int>> ways(model.size() + 1, std::vector<int>(saved.size() + 1, 0));
  ways[0].assign(saved.size() + 1, 1);
  for (size_t i = 1; i <= model.size(); ++i) {
    for (size_t j = 1; j <= saved.size(); ++j) {
      const bool same = model[i - 1].signature == saved[j - 1].signature;
      ways[i][j] = std::min(kSeveral, ways[i][j - 1] + (same ? ways[i - 1][j - 1] : 0));
    }
  }
  if (ways[model.size()][saved.size()] != 1) return std::nullopt;
  std::vector<size_t> chosen(model.size());
  size_t j = saved.size();
  for (size_t i = model.size(); i > 0; --i) {
    while (ways[i][j - 1] > 0) --j;
    chosen[i - 1] = --j;
  }
  return chosen;
}

std::optional<Keys> ByLayers(const std::vector<ModelVariable>& variables,
                             const std::vector<Saved>& saved, bool ordered) {
  const std::vector<Layer> model = LayersOf(variables), layers = LayersOf(saved, ordered);
  std::optional<std::vector<size_t>> chosen = ByShapes(model, layers);
  if (!chosen.has_value()) chosen = ByOrder(model, layers);
  if (!chosen.has_value()) return std::nullopt;
  Keys keys;
  for (size_t i = 0; i < model.size(); ++i) {
    for (const auto& [last_name, name] : model[i].variables) {
      keys[name] = layers[(*chosen)[i]].variables.at(last_name);
    }
  }
  return keys;
}

// Lists the wanted layers that several of the checkpoint, or none, may be.
absl::Status NotToBeTold(const std::vector<ModelVariable>& wanted, const std::vector<Saved>& saved,
                         const std::string& prefix) {
  const std::vector<Layer> layers = LayersOf(saved, /*ordered=*/false);
  std::map<std::string, std::vector<int64_t>> dims;
  for (const ModelVariable& variable : wanted) dims[variable.name] = variable.dims;
  std::vector<std::string> open;
  std::string example;  // of a variable with candidates, where there is one
  bool has_candidates = false;
  for (const Layer& layer : LayersOf(wanted)) {
    const std::vector<size_t> candidates = Candidates(layer, layers);
    if (candidates.size() == 1) continue;
    for (const auto& [last_name, name] : layer.variables) {
      std::vector<std::string> keys;
      for (const size_t i : candidates) {
        keys.push_back(Quote(PathOf(layers[i].variables.at(last_name))));
      }
      open.push_back(
          absl::StrCat(Quote(name), " ", DimsToString(dims[name]), ": ",
                       keys.empty() ? "no layer of these shapes" : absl::StrJoin(keys, " or ")));
      if (!example.empty() && (has_candidates || keys.empty())) continue;
      has_candidates = !keys.empty();
      example = absl::StrCat("{ key: ", Quote(name),
                             " value: ", has_candidates ? keys.front() : "\"NAME\"", " }");
    }
  }
  const size_t more = open.size() - std::min(open.size(), kShown);
  open.resize(open.size() - more);
  if (more > 0) open.push_back(absl::StrCat("and ", more, " more"));
  return absl::InvalidArgumentError(absl::StrCat(
      "checkpoint ", prefix,
      " is one of objects (Keras, tf.train.Checkpoint), of whose variables names, shapes and the "
      "order of layers do not tell which is meant: ",
      absl::StrJoin(open, "; "), "; say it with var_name_to_prev_var_name ", example,
      ", or leave them out by vars_to_warm_start; tpurun inspect ", prefix,
      " lists what there is"));
}

}  // namespace

absl::StatusOr<ObjectMatch> MatchObjects(const std::vector<ModelVariable>& model,
                                         const BundleReader& reader,
                                         const std::vector<std::string>& taken) {
  ASSIGN_OR_RETURN(const std::vector<Saved> saved,
                   SavedVariables(reader, {taken.begin(), taken.end()}));
  ASSIGN_OR_RETURN(const bool ordered, NumbersLayers(reader));
  std::vector<ModelVariable> wanted;
  for (const ModelVariable& variable : model) {
    if (variable.wanted) wanted.push_back(variable);
  }
  for (const auto& variables : {model, wanted}) {
    for (const auto& matched : {ByName(variables, saved), ByLayers(variables, saved, ordered)}) {
      if (!matched.has_value()) continue;
      ObjectMatch match;
      std::set<std::string> found;
      for (const ModelVariable& variable : wanted) {
        match.keys[variable.name] = matched->at(variable.name);
        found.insert(matched->at(variable.name));
      }
      for (const Saved& other : saved) {
        if (found.count(other.key) == 0) match.left.push_back(other.key);
      }
      return match;
    }
  }
  return NotToBeTold(wanted, saved, reader.prefix());
}

absl::StatusOr<std::string> ObjectKey(const BundleReader& reader, const std::string& name) {
  if (reader.Find(name) != nullptr) return name;
  if (reader.Find(name + kVariableValue) != nullptr) return name + kVariableValue;
  ASSIGN_OR_RETURN(const auto full_names, FullNames(reader));
  std::vector<std::string> keys;
  for (const auto& [key, full_name] : full_names) {
    if (full_name == name) keys.push_back(key);
  }
  return keys.size() == 1 ? keys[0] : name;
}

}  // namespace tpurun
