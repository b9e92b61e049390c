#ifndef TPURUN_CLI_HELP_SEARCH_H_
#define TPURUN_CLI_HELP_SEARCH_H_

#include <span>
#include <string>

#include "cli/command_line.h"

namespace tpurun {

// A line for each verb, flag, topic, kind of layer and so on, field, enumerator and op whose name
// or text has the word, capitals, _, - and blanks being the same; empty for none.
std::string HelpSearch(const std::string& word, std::span<const Verb> verbs);

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_SEARCH_H_
