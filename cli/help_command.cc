#include "cli/help_command.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/help_topics.h"
#include "cli/json.h"
#include "cli/man_page.h"
#include "cli/verb_table.h"
#include "proto/run_config.pb.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Of a verb that has a part of the RunConfig.
std::string MessageHint(const std::string& verb) {
  const auto* const field = proto::RunConfig::descriptor()->FindFieldByName(verb);
  if (field == nullptr || field->message_type() == nullptr) return "";
  return absl::StrCat("\ntpurun help ", field->message_type()->name(), " shows what ", verb,
                      " { ... } of the configuration has.\n");
}

std::string TopicList() {
  size_t width = 0;
  for (const HelpTopic& topic : HelpTopics()) width = std::max(width, topic.name.size());
  std::string text = "\ntopics:\n";
  for (const HelpTopic& topic : HelpTopics()) {
    absl::StrAppend(&text, "  ", topic.name, std::string(width + 2 - topic.name.size(), ' '),
                    topic.doc, "\n");
  }
  return absl::StrCat(text,
                      "\ntpurun help TOPIC or NAME shows it; a NAME is of a layer, source, "
                      "message, field and so on,\nor a path: dense, RunConfig, train.input.\n");
}

}  // namespace

absl::Status HelpCommand(const CommandLine& command) {
  if (command.GetBool("man")) return WriteOutput(ManPage(Verbs()));
  if (command.arguments().empty()) return WriteOutput(HelpText(Verbs()) + TopicList());
  const std::string& name = command.arguments().front();
  if (const Verb* verb = FindVerb(name, Verbs())) {
    return WriteOutput(absl::StrCat(HelpText(*verb), MessageHint(name)));
  }
  if (const std::optional<std::string> page = HelpPage(name)) return WriteOutput(*page);
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '-', '_');
  if (const std::string page = FlagPage(flag, Verbs()); !page.empty()) return WriteOutput(page);
  for (const std::string& choice : HelpChoices()) {
    if (!absl::EqualsIgnoreCase(choice, name)) continue;
    if (const std::optional<std::string> page = HelpPage(choice)) return WriteOutput(*page);
  }
  const std::string nearest = NearestName(name, HelpChoices());
  return absl::InvalidArgumentError(
      absl::StrCat("no verb, topic or name of the configuration is called ", Quote(name),
                   nearest.empty() ? "; see tpurun help"
                                   : absl::StrCat(", did you mean ", Quote(nearest), "?")));
}

std::vector<std::string> HelpChoices() {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) names.push_back(verb.name);
  for (std::string& name : HelpNames()) names.push_back(std::move(name));
  return names;
}

}  // namespace tpurun
