#include "cli/help_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "cli/verb_table.h"
#include "runtime/base/text.h"

namespace tpurun {

absl::Status HelpCommand(const CommandLine& command) {
  if (command.arguments().empty()) return WriteOutput(HelpText(Verbs()));
  const std::string& name = command.arguments().front();
  if (const Verb* verb = FindVerb(name, Verbs())) return WriteOutput(HelpText(*verb));
  std::vector<std::string> known;
  for (const Verb& verb : Verbs()) known.push_back(verb.name);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown verb ", Quote(name), DidYouMean(name, known)));
}

}  // namespace tpurun
