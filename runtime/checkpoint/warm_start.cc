#include "runtime/checkpoint/warm_start.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/object_variables.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/io/object_graph.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

std::vector<std::string> NamesOf(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) {
    if (variable.name == kGlobalStep || variable.scope == Variable::Scope::kState) continue;
    names.push_back(variable.name);
  }
  return names;
}

absl::Status AddMatching(const std::string& expression, const std::vector<std::string>& names,
                         std::map<std::string, std::string>& chosen) {
  ASSIGN_OR_RETURN(const NamePattern pattern, NamePattern::Parse(expression));
  bool matches = false;
  for (const std::string& name : names) {
    if (!pattern.Matches(name)) continue;
    chosen[name] = name;
    matches = true;
  }
  if (matches) return absl::OkStatus();
  return absl::InvalidArgumentError(MatchesNone(expression, names));
}

// Our name of each variable to read -> its name in the checkpoint.
absl::StatusOr<std::map<std::string, std::string>> Chosen(const proto::WarmStart& settings,
                                                          const std::vector<std::string>& names) {
  std::map<std::string, std::string> chosen;
  for (const std::string& expression : settings.vars_to_warm_start()) {
    RETURN_IF_ERROR(Annotate(AddMatching(expression, names, chosen), "vars_to_warm_start"));
  }
  if (settings.vars_to_warm_start().empty()) RETURN_IF_ERROR(AddMatching(".*", names, chosen));
  for (const auto& renamed : settings.var_name_to_prev_var_name()) {
    const std::string& ours = renamed.key();
    const auto found = chosen.find(ours);
    if (found == chosen.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "var_name_to_prev_var_name: ", Quote(ours),
          " is none of the variables that vars_to_warm_start matches", DidYouMean(ours, names)));
    }
    found->second = renamed.value();
  }
  return chosen;
}

// Of a SavedModel its variables.
absl::StatusOr<Checkpoint> OpenModel(const std::string& path) {
  const std::string variables = JoinPath(path, "variables/variables");
  const bool is_saved_model =
      IsAbsent(CheckpointStatePath(path)) && !IsAbsent(BundleIndexPath(variables));
  return Checkpoint::Open(is_saved_model ? variables : path);
}

// A key of an object-based checkpoint as a person writes it.
std::string WithoutEnd(const std::string& key) {
  return std::string(absl::StripSuffix(key, kVariableValue));
}

// Puts the keys of an object-based checkpoint in the place of names that it does not have.
absl::Status FindObjects(const proto::WarmStart& settings,
                         const std::vector<Variable>& model_variables, const BundleReader& reader,
                         std::map<std::string, std::string>& chosen) {
  std::vector<std::string> taken;
  std::set<std::string> renamed;
  for (const auto& entry : settings.var_name_to_prev_var_name()) {
    std::string& theirs = chosen.at(entry.key());
    ASSIGN_OR_RETURN(theirs, ObjectKey(reader, theirs));
    taken.push_back(theirs);
    renamed.insert(entry.key());
  }
  std::vector<ModelVariable> model;
  bool any = false;
  for (const Variable& variable : model_variables) {
    const auto found = chosen.find(variable.name);
    const bool wanted = found != chosen.end() && reader.Find(found->second) == nullptr;
    any = any || wanted;
    const bool is_one = variable.shape.dtype == DType::kF32 && renamed.count(variable.name) == 0 &&
                        variable.scope != Variable::Scope::kState;
    if (is_one) model.push_back({variable.name, variable.shape.dims, wanted});
  }
  if (!any) return absl::OkStatus();
  ASSIGN_OR_RETURN(ObjectMatch match, MatchObjects(model, reader, taken));
  for (const auto& [name, key] : match.keys) chosen[name] = key;
  for (std::string& key : match.left) key = WithoutEnd(key);
  if (!match.left.empty()) {
    LOG(INFO) << "The checkpoint's objects are told by names, shapes and order; left in it: "
              << absl::StrJoin(match.left, ", ") << ".";
  }
  return absl::OkStatus();
}

// What to write where some variables do not fit: of the layers that do a pattern, as of a model
// with a new head; of others how to name theirs.
std::string Advice(const std::map<std::string, std::string>& chosen, const BundleReader& reader,
                   const VariableStore& store) {
  std::map<std::string, bool> fits;  // layers
  for (const auto& [name, theirs] : chosen) {
    const BundleEntry* const entry = reader.Find(theirs);
    const bool same = entry != nullptr && entry->shape == store.Find(name)->variable().shape.dims;
    const auto [layer, first] = fits.emplace(DirName(name), same);
    if (!first) layer->second = layer->second && same;
  }
  std::vector<std::string> layers;
  for (const auto& [layer, fit] : fits) {
    if (fit && !layer.empty()) layers.push_back(layer);
  }
  if (layers.empty()) {
    return absl::StrCat("; where they have other names there, var_name_to_prev_var_name { key: ",
                        Quote(chosen.begin()->first), " value: \"NAME\" }; tpurun inspect ",
                        reader.prefix(), " lists them");
  }
  constexpr size_t kMost = 8;  // in a pattern that a person writes
  const std::string some =
      layers.size() == 1 ? layers[0] : absl::StrCat("(", absl::StrJoin(layers, "|"), ")");
  return absl::StrCat(
      "; to take over what fits and start the others, a new head, afresh: "
      "vars_to_warm_start: ",
      layers.size() > kMost ? "with a pattern that matches that alone"
                            : Quote(absl::StrCat("^", some, "/")));
}

void LogChosen(const std::string& prefix, const std::map<std::string, std::string>& chosen,
               const std::vector<std::string>& names) {
  std::vector<std::string> taken, left;
  for (const std::string& name : names) {
    const auto found = chosen.find(name);
    if (found == chosen.end()) {
      left.push_back(name);
    } else {
      taken.push_back(found->second == name
                          ? name
                          : absl::StrCat(name, " (of ", WithoutEnd(found->second), ")"));
    }
  }
  LOG(INFO) << "Warm-started from " << prefix << ": " << absl::StrJoin(taken, ", ") << ".";
  if (left.empty()) return;
  LOG(INFO) << "Not warm-started but initialized: " << absl::StrJoin(left, ", ") << ".";
}

absl::Status ReadVariables(const proto::WarmStart& settings,
                           const std::vector<Variable>& model_variables, VariableStore& store) {
  const std::vector<std::string> names = NamesOf(model_variables);
  ASSIGN_OR_RETURN(auto chosen, Chosen(settings, names));
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, OpenModel(settings.ckpt_to_initialize_from()));
  const BundleReader& reader = checkpoint.reader();
  if (reader.Find(kObjectGraph) != nullptr) {
    RETURN_IF_ERROR(FindObjects(settings, model_variables, reader, chosen));
  }
  const absl::Status restored = checkpoint.RestoreAs(chosen, store);
  if (absl::IsInvalidArgument(restored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(restored.message(), Advice(chosen, reader, store)));
  }
  RETURN_IF_ERROR(restored);
  LogChosen(checkpoint.prefix(), chosen, names);
  return absl::OkStatus();
}

}  // namespace

absl::Status WarnOfOtherAssets(const proto::WarmStart& settings,
                               const std::map<std::string, std::string>& assets) {
  if (assets.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, OpenModel(settings.ckpt_to_initialize_from()));
  ASSIGN_OR_RETURN(const RunState state, checkpoint.ReadRunState());
  for (const auto& [name, identity] : assets) {
    const auto theirs = state.assets.find(name);
    if (theirs == state.assets.end() || theirs->second == identity) continue;
    LOG(WARNING)
        << "warm_start_from: " << checkpoint.prefix() << " was trained with another " << name
        << ", of length and checksum " << theirs->second << ", here " << identity
        << ": what its variables learned of ids is of others; name that file in the input, "
           "or leave these variables out by vars_to_warm_start.";
  }
  return absl::OkStatus();
}

absl::Status WarmStart(const proto::WarmStart& settings,
                       const std::vector<Variable>& model_variables, VariableStore& store) {
  return Annotate(ReadVariables(settings, model_variables, store), "warm_start_from");
}

}  // namespace tpurun
