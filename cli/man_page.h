// The manual page, generated from the tables that help shows.
#ifndef TPURUN_CLI_MAN_PAGE_H_
#define TPURUN_CLI_MAN_PAGE_H_

#include <span>
#include <string>

#include "cli/command_line.h"

namespace tpurun {

// In roff, section 1, for `man -l` and groff -man.
std::string ManPage(std::span<const Verb> verbs);

}  // namespace tpurun

#endif  // TPURUN_CLI_MAN_PAGE_H_
