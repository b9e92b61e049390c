// The table of tpurun's verbs, one row each.
#ifndef TPURUN_CLI_VERB_TABLE_H_
#define TPURUN_CLI_VERB_TABLE_H_

#include <span>

#include "cli/command_line.h"

namespace tpurun {

std::span<const Verb> Verbs();

}  // namespace tpurun

#endif  // TPURUN_CLI_VERB_TABLE_H_
