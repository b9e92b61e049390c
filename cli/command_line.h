// The command line: verbs with their flags as table rows, their help, and what a call gives them.
#ifndef TPURUN_CLI_COMMAND_LINE_H_
#define TPURUN_CLI_COMMAND_LINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/config/edit.h"
#include "cli/config/load_config.h"

namespace tpurun {

struct Flag {
  // A path has no scheme once the command line is parsed, nor has any of several.
  enum class Type { kString, kInt, kDouble, kBool, kList, kPath, kPaths };
  std::string name;
  Type type = Type::kString;
  std::string value_name;  // for help: FILE
  std::string help;
  // A config path that the flag sets ("train.max_steps"); empty for a flag the verb reads itself.
  std::string sets = {};
  // Of the flags with the same non-empty group at most one may be given.
  std::string group = {};
};

class CommandLine;

// One row of the verb table.
struct Verb {
  std::string name;
  std::string doc;        // one line
  std::string arguments;  // for help: what follows the verb besides flags, such as "PATH"
  std::string example;
  std::vector<Flag> flags;
  // Takes --config, --set, --unset and the scalar fields of RunConfig as flags.
  bool takes_config = false;
  // Takes --worker_threads, --dump_dir, --log_format and shows the flags of logging.
  bool runs = false;
  int min_arguments = 0;
  int max_arguments = 0;
  int first_path = -1;  // of its arguments: this one and those after it are paths
  // What its first argument may be; null for a file. For completion.
  std::vector<std::string> (*choices)() = nullptr;
  absl::Status (*run)(const CommandLine&) = nullptr;
};

// What a verb was called with; every value has been checked against its flag's type.
class CommandLine {
 public:
  const Verb& verb() const { return *verb_; }
  // Words besides the verb and the flags.
  const std::vector<std::string>& arguments() const { return arguments_; }
  bool wants_help() const { return wants_help_; }

  bool Has(std::string_view flag) const;
  // The value of a flag of the verb, or the default when it was not given.
  std::string GetString(std::string_view flag, std::string_view default_value = "") const;
  int64_t GetInt(std::string_view flag, int64_t default_value = 0) const;
  double GetDouble(std::string_view flag, double default_value = 0) const;
  bool GetBool(std::string_view flag, bool default_value = false) const;
  // "a,b" as a, b.
  std::vector<std::string> GetList(std::string_view flag) const;

  // --config, or else run_config.pbtxt in --model_dir, and every change of the configuration, in
  // the order given; the environment's TF_CONFIG. InvalidArgument where there is neither file.
  absl::StatusOr<LoadOptions> load_options() const;

 private:
  friend absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments,
                                                      std::span<const Verb> verbs);
  const Verb* verb_ = nullptr;
  std::vector<std::string> arguments_;
  std::map<std::string, std::string, std::less<>> flags_;
  std::vector<Edit> edits_;
  bool wants_help_ = false;
};

// `arguments` without the program's name. Logging's flags are handed to gflags.
absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments,
                                             std::span<const Verb> verbs);

// The verb of that name; nullptr if there is none.
const Verb* FindVerb(std::string_view name, std::span<const Verb> verbs);

// Every flag of the verb, those that fields of the RunConfig are included.
std::vector<Flag> FlagsOfVerb(const Verb& verb);
// What it takes besides: --set and --unset, those of logging that are shown, --help.
std::vector<Flag> CommonFlags(const Verb& verb);

// What `help` and `help VERB` print.
std::string HelpText(std::span<const Verb> verbs);
std::string HelpText(const Verb& verb);
// What the verbs that have a flag say of it; empty when none has. The name without dashes.
std::string FlagPage(const std::string& name, std::span<const Verb> verbs);

}  // namespace tpurun

#endif  // TPURUN_CLI_COMMAND_LINE_H_
