#include "cli/man_page.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/exit_codes.h"
#include "cli/help_topics.h"
#include "cli/version_command.h"

namespace tpurun {
namespace {

// Text that roff sets as it is: no line of it is a request.
std::string Roff(const std::string& text) {
  std::vector<std::string> lines;
  for (std::string line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    line = absl::StrReplaceAll(line, {{"\\", "\\e"},
                                      {"-", "\\-"},
                                      {"'", "\\(aq"},
                                      {"`", "\\`"},
                                      {"^", "\\(ha"},
                                      {"~", "\\(ti"}});
    lines.push_back(absl::StrCat(line.rfind('.', 0) == 0 ? "\\&" : "", line));
  }
  return absl::StrJoin(lines, "\n");
}

// Lines that keep their breaks.
std::string Verbatim(const std::string& text) {
  return absl::StrCat(".PP\n.nf\n", Roff(text), text.back() == '\n' ? "" : "\n", ".fi\n");
}

std::string FlagEntry(const Flag& flag) {
  std::string entry = absl::StrCat(".TP\n\\fB\\-\\-", Roff(flag.name), "\\fR");
  if (!flag.value_name.empty()) {
    absl::StrAppend(&entry, flag.name == "set" || flag.name == "unset" ? " " : "=", "\\fI",
                    Roff(flag.value_name), "\\fR");
  }
  return absl::StrCat(entry, "\n", Roff(flag.help), "\n");
}

std::string VerbSection(const Verb& verb) {
  std::string text = absl::StrCat(".SS ", Roff(verb.name), verb.arguments.empty() ? "" : " ",
                                  Roff(verb.arguments), "\n", Roff(verb.doc), ".\n");
  for (const Flag& flag : verb.flags) absl::StrAppend(&text, FlagEntry(flag));
  return absl::StrCat(text, Verbatim("  " + verb.example));
}

// The flags that several verbs have, without those of one alone and those that are fields.
std::string SharedFlags(const Verb& verb) {
  std::string text;
  std::vector<Flag> flags = FlagsOfVerb(verb);
  flags.erase(flags.begin(), flags.begin() + static_cast<ptrdiff_t>(verb.flags.size()));
  for (const Flag& flag : flags) {
    if (!flag.help.empty()) absl::StrAppend(&text, FlagEntry(flag));
  }
  for (const Flag& flag : CommonFlags(verb)) absl::StrAppend(&text, FlagEntry(flag));
  return text;
}

}  // namespace

std::string ManPage(std::span<const Verb> verbs) {
  std::string text = absl::StrCat(
      ".TH TPURUN 1 \"\" \"tpurun ", kVersion, "\" \"User Commands\"\n.SH NAME\n", Roff("tpurun"),
      " \\- ", Roff("TPUEstimator's work on an emulated Cloud TPU"),
      "\n.SH SYNOPSIS\n.B tpurun\n.I VERB\n[\\fIflags\\fR]\n.SH DESCRIPTION\n",
      Roff(
          "Reads a RunConfig and a model as text protobufs, compiles the model for 8 to 512 cores, "
          "trains, "
          "and writes checkpoints and event files that TensorFlow and TensorBoard open. Results "
          "are "
          "JSON on standard output, logs go to standard error."),
      "\n.SH VERBS\n");
  for (const Verb& verb : verbs) absl::StrAppend(&text, VerbSection(verb));
  absl::StrAppend(&text, ".SH FLAGS\nOf every verb that runs a model:\n");
  for (const Verb& verb : verbs) {
    if (!verb.takes_config || !verb.runs) continue;
    absl::StrAppend(&text, SharedFlags(verb));
    break;
  }
  absl::StrAppend(&text, ".SH CONFIGURATION\n", Verbatim(*HelpPage("set")), ".SH EXIT STATUS\n");
  for (const ExitCodeDoc& doc : ExitCodes()) {
    absl::StrAppend(&text, ".TP\n.B ", doc.code, "\n", Roff(doc.when), "\n");
  }
  absl::StrAppend(&text, ".SH MANUAL\n");
  for (const ManualPage& page : ManualPages()) {
    absl::StrAppend(&text, ".SS ", Roff(page.name), "\n", Verbatim(ManualText(page)));
  }
  absl::StrAppend(&text, ".SH SEE ALSO\nPages of \\fBtpurun help\\fR \\fINAME\\fR:\n");
  for (const HelpTopic& topic : HelpTopics()) {
    absl::StrAppend(&text, ".TP\n.B ", Roff(topic.name), "\n", Roff(topic.doc), "\n");
  }
  return text;
}

}  // namespace tpurun
