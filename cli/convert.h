// `tpurun convert`: converts other files into TFRecord files of tf.Examples.
#ifndef TPURUN_CLI_CONVERT_H_
#define TPURUN_CLI_CONVERT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

absl::Status ConvertCommand(const CommandLine& command);
// The names of the kinds of conversion.
std::vector<std::string> ConvertChoices();

}  // namespace tpurun

#endif  // TPURUN_CLI_CONVERT_H_
