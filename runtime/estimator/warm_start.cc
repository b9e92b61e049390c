#include "runtime/estimator/warm_start.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/checkpoint.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

std::vector<std::string> NamesOf(const VariableStore& store, bool trainable_only) {
  std::vector<std::string> names;
  for (const auto& [name, stored] : store.variables()) {
    if (name == kGlobalStep || stored.variable().scope == Variable::Scope::kState) continue;
    if (stored.variable().trainable || !trainable_only) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Matching(const NamePattern& pattern,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> matching;
  for (const std::string& name : names) {
    if (pattern.Matches(name)) matching.push_back(name);
  }
  return matching;
}

absl::Status AddMatching(const std::string& expression, const VariableStore& store,
                         std::map<std::string, std::string>& names) {
  ASSIGN_OR_RETURN(const NamePattern pattern, NamePattern::Parse(expression));
  std::vector<std::string> matching = Matching(pattern, NamesOf(store, true));
  if (matching.empty()) matching = Matching(pattern, NamesOf(store, false));
  if (matching.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("vars_to_warm_start: ", Quote(expression),
                                                   " matches no variable",
                                                   DidYouMean(expression, NamesOf(store, true))));
  }
  for (const std::string& name : matching) names[name] = name;
  return absl::OkStatus();
}

// Our name of each variable to read -> its name in the checkpoint.
absl::StatusOr<std::map<std::string, std::string>> Chosen(const proto::WarmStart& settings,
                                                          const VariableStore& store) {
  std::map<std::string, std::string> names;
  for (const std::string& expression : settings.vars_to_warm_start()) {
    RETURN_IF_ERROR(AddMatching(expression, store, names));
  }
  if (settings.vars_to_warm_start().empty()) RETURN_IF_ERROR(AddMatching(".*", store, names));
  for (const auto& renamed : settings.var_name_to_prev_var_name()) {
    const std::string& ours = renamed.key();
    const auto found = names.find(ours);
    if (found == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("var_name_to_prev_var_name: ", Quote(ours),
                       " is none of the variables that vars_to_warm_start matches",
                       DidYouMean(ours, NamesOf(store, true))));
    }
    found->second = renamed.value();
  }
  return names;
}

absl::Status ReadVariables(const proto::WarmStart& settings, VariableStore& store) {
  ASSIGN_OR_RETURN(const auto names, Chosen(settings, store));
  ASSIGN_OR_RETURN(const std::string prefix, ResolveCheckpoint(settings.ckpt_to_initialize_from()));
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(prefix));
  RETURN_IF_ERROR(checkpoint.RestoreAs(names, store));
  LOG(INFO) << "Warm-started " << names.size() << " variables from " << prefix << ".";
  return absl::OkStatus();
}

}  // namespace

absl::Status WarmStart(const proto::WarmStart& settings, VariableStore& store) {
  return Annotate(ReadVariables(settings, store), "warm_start_from");
}

}  // namespace tpurun
