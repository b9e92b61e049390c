// What `check` prints of a training.
#ifndef TPURUN_CLI_CHECK_TEXT_H_
#define TPURUN_CLI_CHECK_TEXT_H_

#include <ostream>

#include "cli/check_model.h"

namespace tpurun {

// Text for people, or with `json` one object a line: of kind check, layer, allocation, padding,
// slice and assumption.
void WriteCheck(const ModelCheck& check, bool json, std::ostream& out);

}  // namespace tpurun

#endif  // TPURUN_CLI_CHECK_TEXT_H_
