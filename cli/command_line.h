// The command line: the verbs with their flags as table rows, their help, and the parsed flags and
// arguments of one call.
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

// Flag::value_name of a flag that is text or json, which ParseCommandLine checks.
inline constexpr char kTextOrJson[] = "text|json";

struct Flag {
  // After parsing, the values of kPath and kPaths have no scheme.
  enum class Type { kString, kInt, kDouble, kBool, kList, kPath, kPaths };
  std::string name;
  Type type = Type::kString;
  std::string value_name;  // for help: FILE
  std::string help;
  // The config path that the flag sets ("train.max_steps"). Empty for a flag that the verb reads
  // itself.
  std::string sets = {};
  // At most one of the flags with the same non-empty group may be given.
  std::string group = {};
};

class CommandLine;

// One row of the verb table.
struct Verb {
  std::string name;
  std::string doc;        // one line
  std::string arguments;  // for help: the arguments after the verb besides flags, such as "PATH"
  std::string example;
  std::vector<Flag> flags;
  // The verb takes --config, --set, --unset and the scalar fields of RunConfig as flags.
  bool takes_config = false;
  // The verb runs a model: it takes --worker_threads, --kernels, --dump_dir and --log_format.
  bool runs = false;
  // Several processes run the verb together: it takes --host_timeout.
  bool joins_processes = false;
  // The verb trains: a cluster of TF_CONFIG is that of its processes.
  bool trains = false;
  int min_arguments = 0;
  int max_arguments = 0;
  // index of the first argument that is a path; all later arguments are paths too
  int first_path = -1;
  // The possible values of the first argument, for completion. nullptr if it is a file.
  std::vector<std::string> (*choices)() = nullptr;
  absl::Status (*run)(const CommandLine&) = nullptr;
};

// The parsed call of a verb. Every value has been checked against its flag's type.
class CommandLine {
 public:
  const Verb& verb() const { return *verb_; }
  // The words besides the verb and the flags.
  const std::vector<std::string>& arguments() const { return arguments_; }
  bool wants_help() const { return wants_help_; }

  bool Has(std::string_view flag) const;
  // The value of a flag of the verb, or the default if the flag was not given.
  std::string GetString(std::string_view flag, std::string_view default_value = "") const;
  int64_t GetInt(std::string_view flag, int64_t default_value = 0) const;
  double GetDouble(std::string_view flag, double default_value = 0) const;
  bool GetBool(std::string_view flag, bool default_value = false) const;
  // "a,b" as a, b.
  std::vector<std::string> GetList(std::string_view flag) const;

  // All changes of the configuration, in the order given.
  const std::vector<Edit>& edits() const { return edits_; }

  // The config file, which is --config or else run_config.pbtxt in --model_dir; all changes of the
  // configuration, in the order given; and the environment's TF_CONFIG, for a process that was
  // started alone. InvalidArgument if there is neither file.
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

// The character that --delimiter names, or "tab"; nullopt without the flag.
absl::StatusOr<std::optional<char>> ReadDelimiter(const CommandLine& command);
// Whether --format is json, not text.
bool PrintsJson(const CommandLine& command);

// `arguments` do not include the program's name. Logging flags are passed to gflags.
absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments,
                                             std::span<const Verb> verbs);

// Returns the verb of that name, or nullptr if there is none.
const Verb* FindVerb(std::string_view name, std::span<const Verb> verbs);

// Every flag of the verb, including the fields of the RunConfig.
std::vector<Flag> FlagsOfVerb(const Verb& verb);
// The further flags of a verb: --set and --unset, the logging flags that help shows, --help.
std::vector<Flag> CommonFlags(const Verb& verb);

// The text that `help` and `help VERB` print.
std::string HelpText(std::span<const Verb> verbs);
std::string HelpText(const Verb& verb);
// The help of a flag in each verb that has it. Empty if no verb has it. `name` has no dashes.
std::string FlagPage(const std::string& name, std::span<const Verb> verbs);

}  // namespace tpurun

#endif  // TPURUN_CLI_COMMAND_LINE_H_
