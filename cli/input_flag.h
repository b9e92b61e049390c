// --input of evaluate and predict: other files for the inputs of the verb.
#ifndef TPURUN_CLI_INPUT_FLAG_H_
#define TPURUN_CLI_INPUT_FLAG_H_

#include <string>
#include <vector>

#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "proto/config_errors.h"

namespace tpurun {

// The inputs of the evaluations or of predict that `required` names read all rows of these files,
// in order, and parse them as they parse their own: what chooses, orders or repeats rows is left
// out, evaluate.steps too. Mistakes of the flag are added to `errors`.
void UseInputFlag(const std::vector<std::string>& files, const RequiredParts& required,
                  LoadedConfig* config, ConfigErrors& errors);

// The index of the one evaluation to run: the named one, else the one without a name, else the
// first.
int ChooseEvaluation(const proto::RunConfig& run, const RequiredParts& required);

}  // namespace tpurun

#endif  // TPURUN_CLI_INPUT_FLAG_H_
