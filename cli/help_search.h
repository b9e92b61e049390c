#ifndef TPURUN_CLI_HELP_SEARCH_H_
#define TPURUN_CLI_HELP_SEARCH_H_

#include <span>
#include <string>

#include "cli/command_line.h"

namespace tpurun {

// Returns one line for each verb, flag, manual page, topic, kind (of a layer and so on), field,
// enumerator and op whose name or text contains the word. Upper and lower case are equal, and so
// are _, - and blanks. Empty if there is no match.
std::string HelpSearch(const std::string& word, std::span<const Verb> verbs);

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_SEARCH_H_
