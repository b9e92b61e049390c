#include "cli/help_command.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/help_rows.h"
#include "cli/help_search.h"
#include "cli/help_synonyms.h"
#include "cli/help_topics.h"
#include "cli/json.h"
#include "cli/man_page.h"
#include "cli/verb_table.h"
#include "models/layers/tpu_ops.h"
#include "proto/run_config.pb.h"
#include "runtime/base/text.h"
#include "runtime/tpu/op_spelling.h"

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
  for (const ManualPage& page : ManualPages()) width = std::max(width, page.name.size());
  const auto line = [&](const std::string& name, const std::string& doc) {
    return absl::StrCat("  ", name, std::string(width + 2 - name.size(), ' '), doc, "\n");
  };
  std::string text = "\npages of the manual:\n";
  for (const ManualPage& page : ManualPages()) absl::StrAppend(&text, line(page.name, page.title));
  absl::StrAppend(&text, "\ntopics of the configuration:\n");
  for (const HelpTopic& topic : HelpTopics()) absl::StrAppend(&text, line(topic.name, topic.doc));
  return absl::StrCat(text,
                      "\ntpurun help PAGE, TOPIC or NAME shows it; a NAME is of a layer, source, "
                      "message, field and so on,\nor a path: dense, RunConfig, train.input. tpurun "
                      "help --search=WORD lists where a word stands.\n");
}

// Of a verb, a name, a flag; empty for none.
std::string PageOf(const std::string& name) {
  if (const Verb* verb = FindVerb(name, Verbs())) {
    const std::optional<std::string> manual = ManualText(name);
    return absl::StrCat(HelpText(*verb), MessageHint(name), manual.has_value() ? "\n" : "",
                        manual.value_or(""));
  }
  if (const std::optional<std::string> page = HelpPage(name)) return *page;
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '-', '_');
  return FlagPage(flag, Verbs());
}

// What follows the modules or the object of Python's name: "Dense" of tf.keras.layers.Dense, "fit"
// of model.fit. A path of the configuration is itself.
std::string WithoutModules(const std::string& name) {
  const std::string first = name.substr(0, name.find('.'));
  const bool is_path = proto::RunConfig::descriptor()->FindFieldByName(first) != nullptr;
  const bool is_method = first == "model" && name.find('.') == name.rfind('.');
  return is_path && !is_method ? name : name.substr(name.rfind('.') + 1);
}

// The name of a page that `name` is another spelling of: sliced, BatchNormalization, the plural;
// empty for none.
std::string OtherSpelling(const std::string& name) {
  std::string lower = absl::AsciiStrToLower(name);
  if (!PageOf(lower).empty()) return lower;
  const std::vector<std::string> choices = HelpChoices();
  for (const std::string& choice : choices) {
    if (absl::EqualsIgnoreCase(choice, name)) return choice;
  }
  for (const std::string& choice : choices) {
    const bool plain = choice.find('.') == std::string::npos;
    if (plain && OpSpelling(choice) == OpSpelling(name)) return choice;
  }
  const std::string singular = Singular(name);
  return singular != name && !PageOf(singular).empty() ? singular : "";
}

std::string ListOf(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "tpurun help ", name);
  });
}

// What there is on a word that is no page's name: pages of other names, and what `rows` of the
// manual say; empty for nothing.
std::string AnswerByOthers(const std::string& name, const HelpRelated& related) {
  std::string page;
  if (related.names.empty()) {
    page = PageOf(OtherSpelling(name));
  } else {
    page = absl::StrCat(related.note, related.note.empty() ? "" : "\n", "see ",
                        ListOf(related.names), "\n\n", PageOf(related.names[0]));
  }
  // Python's names are those of the tables; other words may stand in any of them.
  const bool is_python = absl::c_any_of(name, absl::ascii_isupper);
  const std::string rows = page.empty() || is_python ? ManualRows(name) : "";
  return absl::StrCat(rows, rows.empty() || page.empty() ? "" : "\n", page);
}

// What there is on a word; empty for nothing.
std::string Answer(const std::string& name) {
  const std::string last = absl::EndsWith(name, ".") ? name : WithoutModules(name);
  const HelpRelated related = RelatedHelp(absl::AsciiStrToLower(last));
  std::string page = PageOf(name);
  if (page.empty()) page = PageOf(last);
  if (page.empty()) return AnswerByOthers(last, related);
  if (related.names.empty() || FindVerb(last, Verbs()) != nullptr) return page;
  return absl::StrCat(page, "\nsee also: ", ListOf(related.names), "\n");
}

absl::Status NoAnswer(const std::string& name) {
  const std::string nearest = NearestName(name, HelpChoices());
  const bool found = !HelpSearch(name, Verbs()).empty();
  return absl::InvalidArgumentError(
      absl::StrCat("no verb, page, topic or name of the configuration is called ", Quote(name),
                   nearest.empty() ? "" : absl::StrCat(", did you mean ", Quote(nearest), "?"),
                   found ? absl::StrCat("; tpurun help --search=", name, " lists where it stands")
                   : nearest.empty() ? "; see tpurun help"
                                     : ""));
}

}  // namespace

absl::Status HelpCommand(const CommandLine& command) {
  if (command.GetBool("man")) return WriteOutput(ManPage(Verbs()));
  if (command.Has("search")) {
    const std::string word = command.GetString("search");
    const std::string found = HelpSearch(word, Verbs());
    if (!found.empty()) return WriteOutput(found);
    return absl::InvalidArgumentError(absl::StrCat("--search: nothing has ", Quote(word),
                                                   " in its name or text; see tpurun help"));
  }
  if (command.arguments().empty()) return WriteOutput(HelpText(Verbs()) + TopicList());
  std::string name = absl::StrJoin(command.arguments(), "_");
  std::replace(name.begin(), name.end(), ' ', '_');
  const std::string answer = Answer(name);
  return answer.empty() ? NoAnswer(name) : WriteOutput(answer);
}

std::vector<std::string> HelpChoices() {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) names.push_back(verb.name);
  for (std::string& name : HelpNames()) names.push_back(std::move(name));
  return names;
}

}  // namespace tpurun
