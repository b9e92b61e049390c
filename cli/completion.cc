#include "cli/completion.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/config/field_text.h"
#include "cli/config/load_config.h"
#include "cli/config_docs.h"
#include "cli/json.h"
#include "cli/verb_table.h"
#include "proto/field_rules.h"
#include "proto/field_values.h"
#include "proto/run_config.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// ---------------------------------------------------------------------------------------- shells

// COMP_WORDS has words cut at COMP_WORDBREAKS, '=' and ':' among them: they are put together for
// us, and what stands before the last cut is left out of the answers.
constexpr char kBash[] = R"(# Completion of tpurun for bash: source <(tpurun completion bash)
_tpurun() {
  local words=() word joined=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ${#words[@]} -gt 0 && ( $word == [=:]* || -n $joined ) ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    joined=
    [[ $word == [=:] ]] && joined=1
  done
  local last=${words[${#words[@]} - 1]} written=${COMP_WORDS[COMP_CWORD]}
  [[ $written == [=:] ]] && written=
  local before=${last%"$written"}
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("${word#"$before"}")
  done < <("${COMP_WORDS[0]/#\~/$HOME}" completion words -- "${words[@]}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=./] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _tpurun tpurun
)";

constexpr char kZsh[] = R"(#compdef tpurun
# Completion of tpurun for zsh: source <(tpurun completion zsh), after compinit.
_tpurun() {
  local word
  local -a whole open
  for word in "${(@f)$("${words[1]/#\~/$HOME}" completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $word == *[=./] ]]; then
      open+=("$word")
    elif [[ -n $word ]]; then
      whole+=("$word")
    fi
  done
  compadd -S '' -a open
  compadd -a whole
}
if [[ $funcstack[1] == _tpurun ]]; then _tpurun; else compdef _tpurun tpurun; fi
)";

// ---------------------------------------------------------------------------------------- files

bool IsConfigFile(const std::string& name) {
  return absl::EndsWith(name, ".textproto") || absl::EndsWith(name, ".pbtxt");
}

// Files and folders whose paths begin with `begin`; of files those that `wanted` takes.
std::vector<std::string> Files(const std::string& begin, bool (*wanted)(const std::string& name)) {
  const size_t slash = begin.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : begin.substr(0, slash + 1);
  const std::string name = begin.substr(folder.size());
  std::vector<std::string> files;
  const auto entries = ListDirectory(folder.empty() ? std::string(".") : folder);
  if (!entries.ok()) return files;
  for (const std::string& entry : *entries) {
    const bool hidden = entry.front() == '.' && name.empty();
    // Of what no line shows as it is, a shell would make something else.
    if (hidden || !absl::StartsWith(entry, name) || !IsPrintable(entry)) continue;
    const std::string path = folder + entry;
    if (IsDirectory(path)) {
      files.push_back(path + "/");
    } else if (wanted == nullptr || wanted(entry)) {
      files.push_back(path);
    }
  }
  return files;
}

// ----------------------------------------------------------------------------- paths and values

std::vector<std::string> ValuesOf(const FieldDescriptor& field, const std::string& begin) {
  std::vector<std::string> values;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) values = {"false", "true"};
  if (field.enum_type() != nullptr) values = EnumNames(*field.enum_type());
  // Where rules leave some values only those; without the quotes that --set does not need.
  const auto& legal = RulesOf(field).in();
  if (!legal.empty()) values.clear();
  for (const std::string& value : legal) {
    const std::string plain = absl::StrReplaceAll(value, {{"\"", ""}});
    if (!plain.empty()) values.push_back(plain);
  }
  return IsPath(field) ? Files(begin, nullptr) : values;
}

// A name that needs no brackets in a path and no quotes in a shell.
bool IsPlain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '/';
  });
}

// The configuration as far as it is known, of which a path names elements.
class PathCompletion {
 public:
  explicit PathCompletion(const std::optional<LoadedConfig>& config) : config_(config) {}

  // What a path that is not whole may go on with.
  std::vector<std::string> Complete(const std::string& begin) {
    const size_t dot = begin.rfind('.');
    const std::string within = dot == std::string::npos ? "" : begin.substr(0, dot);
    if (!Follow(within)) return {};
    std::vector<std::string> paths;
    for (const std::string& next : Next()) {
      paths.push_back(within.empty() ? next : absl::StrCat(within, ".", next));
    }
    return paths;
  }

 private:
  // Goes along whole components; false where they lead nowhere.
  bool Follow(const std::string& path) {
    descriptor_ = proto::RunConfig::descriptor();
    message_ = config_.has_value() ? &config_->run : nullptr;
    repeated_ = nullptr;
    for (const std::string& component :
         std::vector<std::string>(absl::StrSplit(path, '.', absl::SkipEmpty()))) {
      if (repeated_ != nullptr) {
        if (!EnterElement(component)) return false;
      } else if (descriptor_ == nullptr || !EnterField(component)) {
        return false;
      }
    }
    return true;
  }

  bool EnterField(const std::string& name) {
    const FieldDescriptor* const field = descriptor_->FindFieldByName(name);
    if (field == nullptr || field->message_type() == nullptr) return false;
    if (field->is_repeated()) {
      repeated_ = field;
      return true;
    }
    Enter(*field);
    return true;
  }

  void Enter(const FieldDescriptor& field) {
    if (field.message_type() == proto::ModelSpec::descriptor()) {
      message_ = config_.has_value() ? &config_->model : nullptr;
    } else if (message_ != nullptr) {
      message_ = &message_->GetReflection()->GetMessage(*message_, &field);
    }
    descriptor_ = field.message_type();
  }

  bool EnterElement(const std::string& name) {
    const std::map<std::string, const Message*> elements = Elements();
    const auto found = elements.find(name);
    descriptor_ = repeated_->message_type();
    const FieldDescriptor* const field = repeated_;
    repeated_ = nullptr;
    if (found != elements.end()) {
      message_ = found->second;
      descriptor_ = message_->GetDescriptor();
      return true;
    }
    message_ = nullptr;
    // By its kind, or one that is not known: what may be in it is.
    const FieldDescriptor* const kind = field->message_type()->FindFieldByName(name);
    if (kind != nullptr && kind->containing_oneof() != nullptr) descriptor_ = kind->message_type();
    return descriptor_ != nullptr;
  }

  // The elements of repeated_ by name, by kind where one alone has it, and else by number.
  std::map<std::string, const Message*> Elements() const {
    std::map<std::string, const Message*> elements;
    if (message_ == nullptr) return elements;
    std::map<std::string, int> of_kind;
    const auto& reflection = *message_->GetReflection();
    for (int i = 0; i < reflection.FieldSize(*message_, repeated_); ++i) {
      const Message& element = reflection.GetRepeatedMessage(*message_, repeated_, i);
      elements[absl::StrCat(i)] = &element;
      const FieldDescriptor* const name = element.GetDescriptor()->FindFieldByName("name");
      if (name != nullptr) {
        const std::string text = element.GetReflection()->GetString(element, name);
        if (IsPlain(text)) elements[text] = &element;
      }
      const FieldDescriptor* const kind = ChosenKind(element);
      if (kind == nullptr || kind->message_type() == nullptr || ++of_kind[kind->name()] > 1) {
        continue;
      }
      elements.emplace(kind->name(), &element.GetReflection()->GetMessage(element, kind));
    }
    for (const auto& [kind, count] : of_kind) {
      if (count > 1) elements.erase(kind);
    }
    return elements;
  }

  std::vector<std::string> Next() const {
    std::vector<std::string> next;
    if (repeated_ != nullptr) {
      const std::map<std::string, const Message*> elements = Elements();
      for (const auto& [name, element] : elements) next.push_back(name + ".");
      return next;
    }
    for (int i = 0; descriptor_ != nullptr && i < descriptor_->field_count(); ++i) {
      const FieldDescriptor& field = *descriptor_->field(i);
      if (field.is_repeated()) {
        next.push_back(field.name() + "+=");
        next.push_back(field.name() + (field.message_type() == nullptr ? "=" : "."));
      } else {
        next.push_back(field.name() + (field.message_type() == nullptr ? "=" : "."));
      }
    }
    return next;
  }

  const std::optional<LoadedConfig>& config_;
  const Descriptor* descriptor_ = nullptr;     // of the message the path is in
  const Message* message_ = nullptr;           // that message; null where it is not known
  const FieldDescriptor* repeated_ = nullptr;  // what comes next is an element of it
};

// ------------------------------------------------------------------------------------ the words

// The value of --config in the words, if it is a file that can be read again.
std::optional<LoadedConfig> ConfigOf(std::span<const std::string> words) {
  std::string path;
  for (size_t i = 0; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (absl::ConsumePrefix(&word, "--config=")) path = std::string(word);
    if (word == "--config" && i + 1 < words.size()) path = words[i + 1];
  }
  // What a process substitution gives can be read once, and by somebody else.
  if (!IsConfigFile(path)) return std::nullopt;
  const absl::StatusOr<LoadedConfig> config = LoadSoundConfig({.config_path = path});
  return config.ok() ? std::optional<LoadedConfig>(*config) : std::nullopt;
}

// "train.max_steps=5", what follows --set; `unset` for what follows --unset.
std::vector<std::string> CompleteSet(std::span<const std::string> words, const std::string& begin,
                                     bool unset) {
  const size_t equals = begin.find('=');
  if (equals == std::string::npos) {
    std::vector<std::string> paths = PathCompletion(ConfigOf(words)).Complete(begin);
    if (!unset) return paths;
    std::set<std::string> without_value;
    for (std::string& path : paths) {
      if (absl::EndsWith(path, "+=")) continue;
      if (path.back() == '=') path.pop_back();
      without_value.insert(std::move(path));
    }
    return {without_value.begin(), without_value.end()};
  }
  std::vector<std::string> whole;
  const std::string path = begin.substr(0, equals + 1);
  const std::string name(absl::StripSuffix(absl::StripSuffix(path, "="), "+"));
  if (const FieldDescriptor* const field = FindByPath(name)) {
    for (const std::string& value : ValuesOf(*field, begin.substr(equals + 1))) {
      whole.push_back(path + value);
    }
  }
  return whole;
}

// Of a flag; `begin` is what is written of the value.
std::vector<std::string> CompleteValue(std::span<const std::string> words, const Flag& flag,
                                       const std::string& begin) {
  if (flag.name == "set" || flag.name == "unset") {
    return CompleteSet(words, begin, flag.name == "unset");
  }
  if (flag.type == Flag::Type::kBool) return {"false", "true"};
  if (flag.name == "config" || flag.sets == "model_file") return Files(begin, IsConfigFile);
  if (flag.type == Flag::Type::kPaths) return Files(begin, nullptr);
  if (absl::StrContains(flag.value_name, '|')) return absl::StrSplit(flag.value_name, '|');
  if (const FieldDescriptor* const field = FindByPath(flag.sets); field && !flag.sets.empty()) {
    return ValuesOf(*field, begin);
  }
  return flag.type == Flag::Type::kPath ? Files(begin, nullptr) : std::vector<std::string>();
}

const Flag* FlagOf(const std::vector<Flag>& flags, absl::string_view word) {
  while (absl::ConsumePrefix(&word, "-")) {
  }
  for (const Flag& flag : flags) {
    if (word == flag.name) return &flag;
  }
  return nullptr;
}

std::vector<std::string> FlagWords(const std::vector<Flag>& flags) {
  std::vector<std::string> words;
  for (const Flag& flag : flags) {
    const bool edits = flag.name == "set" || flag.name == "unset";
    words.push_back(
        absl::StrCat("--", flag.name, flag.type == Flag::Type::kBool || edits ? "" : "="));
  }
  return words;
}

// Words that do not depend on what is written of the last one but by beginning with it.
std::vector<std::string> Candidates(std::span<const std::string> words,
                                    std::span<const Verb> verbs) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) names.push_back(verb.name);
  const std::string& last = words.back();
  const Verb* const verb = words.size() == 1 ? nullptr : FindVerb(words.front(), verbs);
  if (verb == nullptr) return words.size() == 1 ? names : std::vector<std::string>();
  std::vector<Flag> flags = FlagsOfVerb(*verb);
  for (const Flag& flag : CommonFlags(*verb)) flags.push_back(flag);

  const std::string& before = words[words.size() - 2];
  const Flag* const open = absl::StartsWith(before, "-") ? FlagOf(flags, before) : nullptr;
  if (open != nullptr && open->type != Flag::Type::kBool && words.size() > 2) {
    return CompleteValue(words, *open, last);
  }
  if (absl::StartsWith(last, "-")) {
    const size_t equals = last.find('=');
    if (equals == std::string::npos) return FlagWords(flags);
    const Flag* const flag = FlagOf(flags, last.substr(0, equals));
    if (flag == nullptr) return {};
    std::vector<std::string> whole;
    for (const std::string& value : CompleteValue(words, *flag, last.substr(equals + 1))) {
      whole.push_back(absl::StrCat(last.substr(0, equals + 1), value));
    }
    return whole;
  }
  if (verb->max_arguments == 0) return FlagWords(flags);
  const bool first = std::none_of(words.begin() + 1, words.end() - 1, [](const std::string& word) {
    return !absl::StartsWith(word, "-");
  });
  if (verb->choices == nullptr) return Files(last, nullptr);
  if (first) return verb->choices();
  const bool files = absl::StrContains(verb->arguments, "...");  // "KIND FILE..."
  return files ? Files(last, nullptr) : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> Complete(std::span<const std::string> words, std::span<const Verb> verbs) {
  if (words.empty()) return {};
  std::vector<std::string> completed;
  for (std::string& word : Candidates(words, verbs)) {
    if (absl::StartsWith(word, words.back())) completed.push_back(std::move(word));
  }
  return completed;
}

std::vector<std::string> CompletionChoices() { return {"bash", "zsh"}; }

absl::Status CompletionCommand(const CommandLine& command) {
  const std::string& shell = command.arguments().front();
  if (shell == "words") {
    const std::vector<std::string> words(command.arguments().begin() + 1,
                                         command.arguments().end());
    const std::vector<std::string> completed = Complete(words, Verbs());
    return WriteOutput(absl::StrCat(absl::StrJoin(completed, "\n"), completed.empty() ? "" : "\n"));
  }
  if (shell != "bash" && shell != "zsh") {
    return absl::InvalidArgumentError(
        absl::StrCat("SHELL: got ", Quote(shell), ", want bash or zsh"));
  }
  if (command.arguments().size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("stray word ", Quote(command.arguments()[1]),
                                                   " after completion ", shell,
                                                   "; see tpurun help completion"));
  }
  return WriteOutput(shell == "bash" ? kBash : kZsh);
}

}  // namespace tpurun
