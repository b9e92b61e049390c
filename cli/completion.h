// Shell completion: the possible last words of a command line.
#ifndef TPURUN_CLI_COMPLETION_H_
#define TPURUN_CLI_COMPLETION_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `completion bash|zsh`, and `completion words -- WORD...`, which the printed shell functions call.
absl::Status CompletionCommand(const CommandLine& command);
std::vector<std::string> CompletionChoices();

// Returns the completions of the last of `words`, in order. They are complete words, except that
// words that end in '=', '.' or '/' can be continued. `words` begins with the verb. For elements of
// a configuration, reads the file that --config names. If the file is missing or has mistakes,
// there are only fewer completions.
std::vector<std::string> Complete(std::span<const std::string> words, std::span<const Verb> verbs);

}  // namespace tpurun

#endif  // TPURUN_CLI_COMPLETION_H_
