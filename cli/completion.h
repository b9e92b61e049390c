// What may stand at the end of a command line, for shells.
#ifndef TPURUN_CLI_COMPLETION_H_
#define TPURUN_CLI_COMPLETION_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `completion bash|zsh`, and `completion words -- WORD...`, which what those print calls.
absl::Status CompletionCommand(const CommandLine& command);
std::vector<std::string> CompletionChoices();

// What the last of `words` may become, in order: whole words, of which those that end in '=', '.'
// or
// '/' go on. The words begin with the verb. Of the elements of a configuration it reads the file
// that --config names; that there is none, or that it has mistakes, only means fewer words.
std::vector<std::string> Complete(std::span<const std::string> words, std::span<const Verb> verbs);

}  // namespace tpurun

#endif  // TPURUN_CLI_COMPLETION_H_
