// --input of evaluate and predict, which replaces the files of the verb's inputs.
#ifndef TPURUN_CLI_INPUT_FLAG_H_
#define TPURUN_CLI_INPUT_FLAG_H_

#include <string>
#include <vector>

#include "cli/config/load_config.h"
#include "cli/config/validate.h"
#include "proto/config_errors.h"

namespace tpurun {

// Makes the inputs of the evaluations or of predict, as named by `required`, read all rows of these
// files in order. The rows are parsed as before. Transforms that choose, order or repeat rows are
// left out, and evaluate.steps too. If predict reads records of encoded images, image files and
// folders of them may be named in place of records; predict then forwards the names of the files.
// Adds mistakes of the flag to `errors`.
void UseInputFlag(const std::vector<std::string>& files, const RequiredParts& required,
                  LoadedConfig* config, ConfigErrors& errors);

// The index of the one evaluation to run: the named evaluation, else the evaluation without a name,
// else the first.
int ChooseEvaluation(const proto::RunConfig& run, const RequiredParts& required);

}  // namespace tpurun

#endif  // TPURUN_CLI_INPUT_FLAG_H_
