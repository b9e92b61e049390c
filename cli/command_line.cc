#include "cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/foreign_flags.h"
#include "gflags/gflags.h"
#include "proto/field_rules.h"
#include "proto/run_config.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/io/local_path.h"
#include "runtime/ir/machine.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

const std::vector<Flag>& ConfigFlags() {
  static const auto* const kFlags = new std::vector<Flag>{
      {.name = "config",
       .type = Flag::Type::kPath,
       .value_name = "FILE",
       .help = "the RunConfig, as a textproto, - is standard input; default run_config.pbtxt in "
               "--model_dir"},
      {.name = "model",
       .type = Flag::Type::kPath,
       .value_name = "FILE",
       .help = "the ModelSpec, instead of the one that FILE names",
       .sets = "model_file"},
      {.name = "strict",
       .type = Flag::Type::kBool,
       .help = "warnings end the run with exit code 5, before anything is written where they are "
               "known by then"},
  };
  return *kFlags;
}

const std::vector<Flag>& RunFlags() {
  static const auto* const kFlags = new std::vector<Flag>{
      {.name = "worker_threads",
       .type = Flag::Type::kInt,
       .value_name = "N",
       .help =
           "threads that compute; 0 is one a hardware thread (default); no result depends on it"},
      {.name = "kernels",
       .value_name = "own|library|reference",
       .help = "compute with tpurun's own kernels alone, with a library's wherever it has one, or "
               "with the plain loops that define the ops (slow); default the fastest"},
      {.name = "dump_dir",
       .type = Flag::Type::kPath,
       .value_name = "DIR",
       .help = "write every graph, plan and program there, as text"},
      {.name = "log_format",
       .value_name = kTextOrJson,
       .help = "how log lines look (default text)"},
  };
  return *kFlags;
}

// Of every verb.
const std::vector<Flag>& OutputFlags() {
  static const auto* const kFlags = new std::vector<Flag>{
      {.name = "quiet",
       .type = Flag::Type::kBool,
       .help = "warnings, errors and the result: no log of what goes on, no progress"},
  };
  return *kFlags;
}

// More threads than any machine has CPUs; a thread costs a stack and a turn in every phase.
constexpr int64_t kMaxWorkerThreads = 1024;

// The flags of glog that every verb takes; gflags keeps their values.
struct LogFlag {
  const char* name;
  const char* value_name;
  const char* help;  // nullptr: taken, not shown
};
constexpr LogFlag kLogFlags[] = {
    {"v", "N", "log details up to level N (default 0)"},
    {"minloglevel", "N", "log from level N: 0 info, 1 warnings, 2 errors (default 0)"},
    {"vmodule", "FILE=N,...", nullptr},
    {"log_prefix", "BOOL", nullptr},
    {"colorlogtostderr", "BOOL", nullptr},
};

bool IsLogFlag(const std::string& name) {
  return std::any_of(std::begin(kLogFlags), std::end(kLogFlags),
                     [&](const LogFlag& flag) { return name == flag.name; });
}

Flag::Type TypeOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return Flag::Type::kBool;
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Flag::Type::kDouble;
    case FieldDescriptor::CPPTYPE_STRING:
      return IsPath(field) ? Flag::Type::kPath : Flag::Type::kString;
    default:
      return Flag::Type::kInt;
  }
}

const std::vector<Flag>& FieldFlags() {
  static const auto* const kFlags = [] {
    auto* flags = new std::vector<Flag>;
    const Descriptor& run_config = *proto::RunConfig::descriptor();
    for (int i = 0; i < run_config.field_count(); ++i) {
      const FieldDescriptor& field = *run_config.field(i);
      if (field.is_repeated() || field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) continue;
      flags->push_back({.name = field.name(), .type = TypeOf(field), .sets = field.name()});
    }
    return flags;
  }();
  return *kFlags;
}

const Flag* FindFlag(const std::vector<Flag>& flags, std::string_view name) {
  for (const Flag& flag : flags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

std::optional<bool> ParseBool(const std::string& text) {
  bool value = false;
  if (absl::SimpleAtob(text, &value)) return value;  // true, t, yes, y, 1 and their opposites
  return std::nullopt;
}

absl::Status CheckValue(const Flag& flag, const std::string& value) {
  const auto wrong = [&](const char* want) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag.name, ": got ", Quote(value), ", want ", want));
  };
  switch (flag.type) {
    case Flag::Type::kInt:
      return ParseInt64(value) ? absl::OkStatus() : wrong("an integer");
    case Flag::Type::kDouble:
      return ParseDouble(value) ? absl::OkStatus() : wrong("a number");
    case Flag::Type::kBool:
      return ParseBool(value) ? absl::OkStatus() : wrong("true or false");
    default:
      return absl::OkStatus();
  }
}

bool IsList(const Flag& flag) {
  return flag.type == Flag::Type::kList || flag.type == Flag::Type::kPaths;
}

// The value without the schemes of its paths.
absl::StatusOr<std::string> LocalValue(const Flag& flag, const std::string& value) {
  if (flag.type == Flag::Type::kPath) return LocalPath(value);
  if (flag.type != Flag::Type::kPaths) return value;
  std::vector<std::string> paths;
  for (const absl::string_view path : absl::StrSplit(value, ',', absl::SkipEmpty())) {
    ASSIGN_OR_RETURN(paths.emplace_back(), LocalPath(std::string(path)));
  }
  return absl::StrJoin(paths, ",");
}

absl::Status UnknownFlag(const std::string& name, const Verb& verb,
                         const std::vector<Flag>& flags) {
  std::vector<std::string> known;
  for (const Flag& flag : flags) known.push_back(flag.name);
  for (const Flag& flag : CommonFlags(verb)) known.push_back(flag.name);
  std::string message =
      absl::StrCat("unknown flag ", name.size() == 1 ? "-" : "--", name, " of ", verb.name);
  if (verb.takes_config && proto::TPUConfig::descriptor()->FindFieldByName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(message, ", want --set tpu_config.", name, "=VALUE"));
  }
  const std::string hint = verb.takes_config ? ForeignFlagHint(name, verb.name) : "";
  if (!hint.empty()) return absl::InvalidArgumentError(absl::StrCat(message, ", ", hint));
  std::string nearest = NearestName(name, known);
  if (name.size() == 1) {
    // A short flag of another program: the long one that begins so, when there is one.
    const auto begins = [&](const std::string& flag) { return flag.front() == name.front(); };
    const auto first = std::find_if(known.begin(), known.end(), begins);
    if (first != known.end() && std::none_of(first + 1, known.end(), begins)) nearest = *first;
  }
  if (!nearest.empty()) absl::StrAppend(&message, ", did you mean --", nearest, "?");
  return absl::InvalidArgumentError(absl::StrCat(message, "; see tpurun help ", verb.name));
}

// One argument that starts with a dash, taken apart; '-' in the name became '_'.
struct DashedWord {
  std::string name;
  std::optional<std::string> value;
};

DashedWord SplitDashed(const std::string& word) {
  const size_t begin = word.find_first_not_of('-');
  const size_t equals = word.find('=');
  DashedWord dashed;
  if (begin == std::string::npos) return dashed;
  dashed.name = word.substr(begin, equals == std::string::npos ? equals : equals - begin);
  std::replace(dashed.name.begin(), dashed.name.end(), '-', '_');
  if (equals != std::string::npos) dashed.value = word.substr(equals + 1);
  return dashed;
}

bool IsDashed(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

absl::Status NoVerb(const std::string& word, std::span<const Verb> verbs) {
  std::vector<std::string> known;
  for (const Verb& verb : verbs) known.push_back(verb.name);
  if (IsDashed(word)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "got ", word, ", want a verb first (known: ", absl::StrJoin(known, ", "), ")"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown verb ", Quote(word), DidYouMean(word, known)));
}

// The decimal number in text format, where a leading zero makes it octal and there is no plus.
std::string InTextFormat(std::string_view number) {
  const bool is_negative = number.starts_with('-');
  if (is_negative || number.starts_with('+')) number.remove_prefix(1);
  while (number.size() > 1 && number[0] == '0' && absl::ascii_isdigit(number[1]))
    number.remove_prefix(1);
  return (is_negative ? "-" : "") + std::string(number);
}

Edit FlagEdit(const Flag& flag, const std::string& given, const std::string& value) {
  Edit edit{.path = flag.sets,
            .value = value,
            .raw = true,
            .flag = absl::StrCat("--", flag.name, "=", given)};
  if (flag.type == Flag::Type::kInt || flag.type == Flag::Type::kDouble)
    edit.value = InTextFormat(value);
  if (flag.type == Flag::Type::kBool) edit.value = *ParseBool(value) ? "true" : "false";
  if (flag.type == Flag::Type::kList) {
    std::vector<std::string> items;
    for (absl::string_view item : absl::StrSplit(value, ',', absl::SkipEmpty())) {
      items.push_back(Quote(std::string_view(item.data(), item.size())));
    }
    edit.value = absl::StrCat("[", absl::StrJoin(items, ","), "]");
    edit.raw = false;
  }
  return edit;
}

std::string FlagHelp(const std::string& name, const std::string& value_name,
                     const std::string& help) {
  const std::string left = absl::StrCat("  --", name, value_name.empty() ? "" : "=", value_name);
  constexpr size_t kHelpColumn = 28;
  const std::string gap = left.size() < kHelpColumn ? std::string(kHelpColumn - left.size(), ' ')
                                                    : "\n" + std::string(kHelpColumn, ' ');
  return absl::StrCat(left, gap, help, "\n");
}

}  // namespace

bool CommandLine::Has(std::string_view flag) const { return flags_.find(flag) != flags_.end(); }

std::string CommandLine::GetString(std::string_view flag, std::string_view default_value) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::string(default_value) : found->second;
}

int64_t CommandLine::GetInt(std::string_view flag, int64_t default_value) const {
  return Has(flag) ? *ParseInt64(GetString(flag)) : default_value;
}

double CommandLine::GetDouble(std::string_view flag, double default_value) const {
  return Has(flag) ? *ParseDouble(GetString(flag)) : default_value;
}

bool CommandLine::GetBool(std::string_view flag, bool default_value) const {
  return Has(flag) ? *ParseBool(GetString(flag)) : default_value;
}

std::vector<std::string> CommandLine::GetList(std::string_view flag) const {
  return absl::StrSplit(GetString(flag), ',', absl::SkipEmpty());
}

absl::StatusOr<std::optional<char>> ReadDelimiter(const CommandLine& command) {
  if (!command.Has("delimiter")) return std::nullopt;
  const std::string text = command.GetString("delimiter");
  if (text == "tab") return '\t';
  if (text.size() == 1 && absl::ascii_isascii(text[0]) && text != "\"" && text != "\n")
    return text[0];
  return absl::InvalidArgumentError(
      absl::StrCat("--delimiter: want one character, such as ';', or tab, got ", Quote(text)));
}

absl::StatusOr<LoadOptions> CommandLine::load_options() const {
  const std::string config = GetString("config");
  const char* const variable = std::getenv("TF_CONFIG");
  LoadOptions options = {.config_path = config, .edits = edits_};
  if (variable != nullptr) options.tf_config = variable;
  if (verb_->trains) options.started.verb = verb_->name;
  if (!config.empty()) return options;
  const std::string model_dir = GetString("model_dir");
  RETURN_IF_ERROR(Annotate(LocalPath(model_dir).status(), absl::StrCat("--model_dir=", model_dir)));
  const std::string of_run = RunConfigPath(model_dir);
  if (!model_dir.empty() && FileExists(of_run)) {
    options.config_path = of_run;
    options.found = true;
    return options;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      verb_->name, " needs --config=FILE",
      model_dir.empty() ? "" : absl::StrCat(", there is no ", of_run, " to take instead"),
      "; see tpurun help ", verb_->name));
}

bool PrintsJson(const CommandLine& command) {
  return command.GetString("format", "text") == "json";
}

absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments,
                                             std::span<const Verb> verbs) {
  CommandLine command;
  if (arguments.empty()) return NoVerb("--", verbs);
  command.verb_ = FindVerb(arguments.front(), verbs);
  if (command.verb_ == nullptr) return NoVerb(arguments.front(), verbs);
  const Verb& verb = *command.verb_;
  const std::vector<Flag> flags = FlagsOfVerb(verb);
  std::map<std::string, std::string> given_of_group;

  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      command.arguments_.insert(command.arguments_.end(), arguments.begin() + i + 1,
                                arguments.end());
      break;
    }
    if (!IsDashed(word)) {
      command.arguments_.push_back(word);
      continue;
    }
    DashedWord dashed = SplitDashed(word);
    if (dashed.name == "help" || dashed.name == "h") {
      command.wants_help_ = true;
      continue;
    }
    const Flag* flag = FindFlag(flags, dashed.name);
    if (flag == nullptr && !dashed.value && absl::StartsWith(dashed.name, "no")) {
      const Flag* negated = FindFlag(flags, dashed.name.substr(2));
      if (negated && negated->type == Flag::Type::kBool) {
        flag = negated;
        dashed.value = "false";
      }
    }
    const bool is_edit = verb.takes_config && (dashed.name == "set" || dashed.name == "unset");
    if (flag == nullptr && !is_edit && !IsLogFlag(dashed.name)) {
      return UnknownFlag(dashed.name, verb, flags);
    }
    if (!dashed.value && flag && flag->type == Flag::Type::kBool) dashed.value = "true";
    if (!dashed.value) {
      if (i + 1 == arguments.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", dashed.name, " needs a value: --", dashed.name, is_edit ? " " : "=",
                         dashed.name == "set"                ? "PATH=VALUE"
                         : dashed.name == "unset"            ? "PATH"
                         : flag && !flag->value_name.empty() ? flag->value_name
                                                             : "VALUE"));
      }
      dashed.value = arguments[++i];
    }
    if (is_edit) {
      ASSIGN_OR_RETURN(Edit edit,
                       dashed.name == "set" ? ParseSet(*dashed.value) : ParseUnset(*dashed.value));
      command.edits_.push_back(std::move(edit));
      continue;
    }
    if (flag == nullptr) {
      if (gflags::SetCommandLineOption(dashed.name.c_str(), dashed.value->c_str()).empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--", dashed.name, ": got ", Quote(*dashed.value), ", want another value"));
      }
      continue;
    }
    RETURN_IF_ERROR(CheckValue(*flag, *dashed.value));
    if (!flag->group.empty()) {
      const auto [other, first] = given_of_group.emplace(flag->group, flag->name);
      if (!first && other->second != flag->name) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--", flag->name, " is given together with --", other->second, ", want one of them"));
      }
    }
    absl::StatusOr<std::string> value = LocalValue(*flag, *dashed.value);
    if (!flag->sets.empty()) {
      // What is wrong with it is told with all that is wrong with the configuration.
      if (!value.ok()) value = *dashed.value;
      command.edits_.push_back(FlagEdit(*flag, *dashed.value, *value));
    }
    if (!value.ok()) {
      return Annotate(value.status(), absl::StrCat("--", flag->name, "=", *dashed.value));
    }
    std::string& kept = command.flags_[flag->name];
    const bool adds = IsList(*flag) && flag->sets.empty() && !kept.empty();
    kept = adds ? absl::StrCat(kept, ",", *value) : *std::move(value);
  }

  if (command.wants_help_) return command;
  const int count = static_cast<int>(command.arguments_.size());
  if (count > verb.max_arguments) {
    const std::string& stray = command.arguments_[verb.max_arguments];
    const bool reads_files = std::any_of(verb.flags.begin(), verb.flags.end(),
                                         [](const Flag& flag) { return flag.name == "input"; });
    const bool names_input =
        reads_files && (command.Has("config") || command.Has("model_dir")) && FileExists(stray);
    return absl::InvalidArgumentError(
        absl::StrCat("stray word ", Quote(stray), " after ", verb.name,
                     names_input         ? absl::StrCat("; rows of other files: --input=", stray)
                     : verb.takes_config ? ", want flags such as --config=FILE"
                                         : "",
                     "; see tpurun help ", verb.name));
  }
  if (count < verb.min_arguments) {
    return absl::InvalidArgumentError(
        absl::StrCat(verb.name, " needs ", verb.arguments, "; see tpurun help ", verb.name));
  }
  for (int i = verb.first_path; i >= 0 && i < count; ++i) {
    std::string& argument = command.arguments_[i];
    absl::StatusOr<std::string> path = LocalPath(argument);
    if (!path.ok()) return Annotate(path.status(), argument);
    argument = *std::move(path);
  }
  const int64_t worker_threads = command.GetInt("worker_threads");
  if (worker_threads < 0 || worker_threads > kMaxWorkerThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("--worker_threads: got ", worker_threads, ", want 0 to ", kMaxWorkerThreads));
  }
  const std::string kernels = command.GetString("kernels", "fastest");
  if (!KernelChoiceOf(kernels)) {
    return absl::InvalidArgumentError(absl::StrCat("--kernels: got ", Quote(kernels),
                                                   ", want own, library, reference or fastest"));
  }
  if (const Flag* steps = FindFlag(flags, "steps");
      steps != nullptr && !steps->sets.empty() && command.GetInt("steps", 1) <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--steps: got ", command.GetInt("steps"),
                     ", want a number > 0; leave it out to train until --max_steps or for "
                     "--epochs"));
  }
  for (const Flag& flag : flags) {
    const std::string value = command.GetString(flag.name, "text");
    if (flag.value_name == kTextOrJson && value != "text" && value != "json") {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag.name, ": got ", Quote(value), ", want text or json"));
    }
  }
  return command;
}

const Verb* FindVerb(std::string_view name, std::span<const Verb> verbs) {
  for (const Verb& verb : verbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

std::vector<Flag> FlagsOfVerb(const Verb& verb) {
  std::vector<Flag> flags = verb.flags;
  const auto append = [&flags](const std::vector<Flag>& more) {
    for (const Flag& flag : more) {
      const bool taken = std::any_of(flags.begin(), flags.end(),
                                     [&](const Flag& own) { return own.name == flag.name; });
      if (!taken) flags.push_back(flag);
    }
  };
  if (verb.takes_config) append(ConfigFlags());
  if (verb.runs) append(RunFlags());
  if (verb.takes_config) append(FieldFlags());
  append(OutputFlags());
  return flags;
}

std::vector<Flag> CommonFlags(const Verb& verb) {
  std::vector<Flag> flags;
  if (verb.takes_config) {
    flags.push_back({.name = "set",
                     .value_name = "PATH=VALUE",
                     .help = "change a field of the configuration; += appends to a list"});
    flags.push_back({.name = "unset", .value_name = "PATH", .help = "back to the default"});
  }
  for (const LogFlag& flag : kLogFlags) {
    if (flag.help == nullptr) continue;
    flags.push_back({.name = flag.name, .value_name = flag.value_name, .help = flag.help});
  }
  flags.push_back({.name = "help", .type = Flag::Type::kBool, .help = "show this"});
  return flags;
}

std::string HelpText(std::span<const Verb> verbs) {
  std::string text =
      "tpurun does what TPUEstimator did on a Cloud TPU v2-8, on 8 emulated cores.\n\n"
      "usage: tpurun VERB [flags]\n\nverbs:\n";
  size_t width = 0;
  for (const Verb& verb : verbs) width = std::max(width, verb.name.size());
  for (const Verb& verb : verbs) {
    absl::StrAppend(&text, "  ", verb.name, std::string(width + 2 - verb.name.size(), ' '),
                    verb.doc, "\n");
  }
  absl::StrAppend(&text, "\ntpurun help VERB shows a verb's flags and an example.\n");
  return text;
}

std::string HelpText(const Verb& verb) {
  std::string text = absl::StrCat("usage: tpurun ", verb.name);
  if (!verb.arguments.empty()) absl::StrAppend(&text, " ", verb.arguments);
  if (verb.takes_config) absl::StrAppend(&text, " --config=FILE");
  absl::StrAppend(&text, " [flags]\n\n", verb.doc, ".\n\nexample:\n  ", verb.example,
                  "\n\nflags:\n");
  for (const Flag& flag : verb.flags) {
    absl::StrAppend(&text, FlagHelp(flag.name, flag.value_name, flag.help));
  }
  if (verb.takes_config) {
    for (const Flag& flag : ConfigFlags()) {
      absl::StrAppend(&text, FlagHelp(flag.name, flag.value_name, flag.help));
    }
    absl::StrAppend(&text, "  --set PATH=VALUE          change a field: --set train.max_steps=5,\n",
                    "                            --set model.layer.logits.dense.units=20; += "
                    "appends to a list\n",
                    "  --unset PATH              back to the default\n");
  }
  if (verb.runs) {
    for (const Flag& flag : RunFlags()) {
      absl::StrAppend(&text, FlagHelp(flag.name, flag.value_name, flag.help));
    }
  }
  for (const Flag& flag : OutputFlags()) {
    absl::StrAppend(&text, FlagHelp(flag.name, flag.value_name, flag.help));
  }
  for (const LogFlag& flag : kLogFlags) {
    if (flag.help) absl::StrAppend(&text, FlagHelp(flag.name, flag.value_name, flag.help));
  }
  absl::StrAppend(&text, FlagHelp("help", "", "show this"));
  if (verb.takes_config) {
    absl::StrAppend(&text,
                    "\nevery scalar field of RunConfig is a flag too; flags win over the file:\n");
    std::string line = " ";
    for (const Flag& flag : FieldFlags()) {
      if (line.size() + flag.name.size() + 3 > 100) {
        absl::StrAppend(&text, line, "\n");
        line = " ";
      }
      absl::StrAppend(&line, " --", flag.name);
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string FlagPage(const std::string& name, std::span<const Verb> verbs) {
  std::string text;
  for (const Verb& verb : verbs) {
    for (const Flag& flag : FlagsOfVerb(verb)) {
      if (flag.name != name) continue;
      absl::StrAppend(&text, "tpurun ", verb.name, "\n",
                      FlagHelp(flag.name, flag.value_name, flag.help));
    }
  }
  return text;
}

}  // namespace tpurun
