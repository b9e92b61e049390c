#include "runtime/estimator/warm_start.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/checkpoint.h"
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

void LogChosen(const std::string& prefix, const std::map<std::string, std::string>& chosen,
               const std::vector<std::string>& names) {
  std::vector<std::string> taken, left;
  for (const std::string& name : names) {
    const auto found = chosen.find(name);
    if (found == chosen.end()) {
      left.push_back(name);
    } else {
      taken.push_back(found->second == name ? name
                                            : absl::StrCat(name, " (of ", found->second, ")"));
    }
  }
  LOG(INFO) << "Warm-started from " << prefix << ": " << absl::StrJoin(taken, ", ") << ".";
  if (left.empty()) return;
  LOG(INFO) << "Not warm-started but initialized: " << absl::StrJoin(left, ", ") << ".";
}

absl::Status ReadVariables(const proto::WarmStart& settings, const std::vector<std::string>& names,
                           VariableStore& store) {
  ASSIGN_OR_RETURN(const auto chosen, Chosen(settings, names));
  ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                   Checkpoint::Open(settings.ckpt_to_initialize_from()));
  RETURN_IF_ERROR(checkpoint.RestoreAs(chosen, store));
  LogChosen(checkpoint.prefix(), chosen, names);
  return absl::OkStatus();
}

}  // namespace

absl::Status WarnOfOtherAssets(const proto::WarmStart& settings,
                               const std::map<std::string, std::string>& assets) {
  if (assets.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                   Checkpoint::Open(settings.ckpt_to_initialize_from()));
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
  return Annotate(ReadVariables(settings, NamesOf(model_variables), store), "warm_start_from");
}

}  // namespace tpurun
