// Finds names of other programs in the manual.
#ifndef TPURUN_CLI_HELP_ROWS_H_
#define TPURUN_CLI_HELP_ROWS_H_

#include <string>

namespace tpurun {

// The rows of tables that have the name in their code, as part of `code` or alone, in upper or
// lower case, with the pages that they are of; without such a row the paragraphs. The first few;
// empty for none.
std::string ManualRows(const std::string& name);

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_ROWS_H_
