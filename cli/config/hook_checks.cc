#include "cli/config/hook_checks.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using proto::Hook;

// Of the field `name`; hooks at other moments are for the field `other`.
void CheckField(const google::protobuf::RepeatedPtrField<Hook>& hooks, const std::string& name,
                const std::set<Hook::At>& moments, const std::string& other, ConfigErrors& errors) {
  std::vector<std::string> names;
  for (const Hook::At at : moments) names.push_back(Hook::At_Name(at));
  const std::string want = absl::StrCat("want at: ", absl::StrJoin(names, " or "));
  for (int i = 0; i < hooks.size(); ++i) {
    const Hook& hook = hooks[i];
    const auto add = [&, path = ElementPath(name, i)](const std::string& field,
                                                      const std::string& message) {
      errors.Add(FieldPath(path, field), absl::StrCat(FieldPath(path, field), message));
    };
    if (hook.command().empty()) {
      add("command", " is missing, want what /bin/sh is to run");
    } else if (!IsUtf8(hook.command()) || absl::StrContains(hook.command(), '\0')) {
      add("command", ": want a shell command in UTF-8, without \\000");
    }
    if (!hook.has_at()) {
      add("at", absl::StrCat(" is missing, ", want));
    } else if (moments.count(hook.at()) == 0) {
      add("at", absl::StrCat(": got ", Hook::At_Name(hook.at()), ", ", want,
                             "; the others are for ", other));
    } else if (hook.has_every_n_loops() && hook.at() != Hook::LOOP) {
      add("every_n_loops", absl::StrCat(": is for LOOP, and this hook is run at ",
                                        Hook::At_Name(hook.at()), ", leave it out"));
    }
  }
}

}  // namespace

void CheckHooks(const proto::RunConfig& run, ConfigErrors& errors) {
  CheckField(run.training_hook(), "training_hook", {Hook::LOOP, Hook::CHECKPOINT, Hook::END},
             "evaluation_hook", errors);
  CheckField(run.evaluation_hook(), "evaluation_hook", {Hook::EVALUATION, Hook::END},
             "training_hook", errors);
}

}  // namespace tpurun
