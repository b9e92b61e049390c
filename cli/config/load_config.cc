#include "cli/config/load_config.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/text_format.h"
#include "cli/config/tf_config.h"
#include "cli/config/validate.h"
#include "proto/field_rules.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/io/local_path.h"

namespace tpurun {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// Calls visit(field, path, value) for every string set in `message`; what it returns replaces the
// value.
using VisitString = std::function<std::string(const FieldDescriptor&, const std::string& path,
                                              const std::string& value)>;
void ForEachString(Message* message, const std::string& prefix, const VisitString& visit) {
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = FieldPath(prefix, field->name());
    const int size = field->is_repeated() ? reflection.FieldSize(*message, field) : 1;
    for (int i = 0; i < size; ++i) {
      const std::string value_path = field->is_repeated() ? ElementPath(path, i) : path;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        ForEachString(field->is_repeated() ? reflection.MutableRepeatedMessage(message, field, i)
                                           : reflection.MutableMessage(message, field),
                      value_path, visit);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && field->is_repeated()) {
        reflection.SetRepeatedString(
            message, field, i,
            visit(*field, value_path, reflection.GetRepeatedString(*message, field, i)));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        reflection.SetString(message, field,
                             visit(*field, value_path, reflection.GetString(*message, field)));
      }
    }
  }
}

bool IsLocalRelative(const std::string& path) {
  return !path.empty() && path != "-" && path.front() != '/' && !HasScheme(path);
}

// What a shell hands over: standard input, <(COMMAND), a pipe. It has no folder.
bool IsStream(const std::string& file) {
  std::error_code error;
  return file == kStandardInput || file == "/dev/stdin" || absl::StartsWith(file, "/dev/fd/") ||
         absl::StartsWith(file, "/proc/") || !std::filesystem::is_regular_file(file, error);
}

// Joins the relative paths in `message` to the folder of `file`; of a stream to none, so that they
// are relative to the working directory.
void ResolvePaths(const std::string& file, Message* message) {
  if (IsStream(file)) return;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  ForEachString(message, "",
                [&](const FieldDescriptor& field, const std::string&, const std::string& value) {
                  if (!IsPath(field) || !IsLocalRelative(value)) return value;
                  return (folder / value).lexically_normal().string();
                });
}

// Far more than anyone writes, far less than what /dev/zero has.
constexpr size_t kMaxConfigBytes = 64 << 20;

// A pipe too, as a shell's <(COMMAND) is one, unless it was found.
absl::StatusOr<std::string> ReadConfigFile(const std::string& path, bool found) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source,
                   found ? FileSource::OpenRegular(path) : FileSource::Open(path));
  absl::StatusOr<std::string> text = ReadAll(*source, path, kMaxConfigBytes);
  if (!absl::IsDataLoss(text.status())) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(path, " has more than ", kMaxConfigBytes >> 20, " MiB, want a textproto file"));
}

// The mark stays in a copy and behind a hard link, whatever their names. A file of an older
// training has none; then its name says it, and that of the file that links lead to.
bool IsOfTraining(const std::string& path, const std::string& text) {
  if (absl::StrContains(text, kRunConfigMark)) return true;
  std::error_code error;
  const std::string followed = std::filesystem::canonical(path, error).string();
  const std::string written = BaseName(RunConfigPath(""));
  return BaseName(path) == written || (!error && BaseName(followed) == written);
}

// Parses the text of a file into `message` and records the locations under `prefix`. Returns
// whether anything further can be said of it.
bool ParseFile(const std::string& path, const std::string& text, const std::string& prefix,
               Message* message, SourceLocations* locations, std::vector<std::string>* unread,
               ConfigErrors& errors) {
  const std::string title = FileTitle(path);
  locations->Record(prefix, {.file = title});
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) {
    errors.AddAt({.file = title, .line = 1, .column = 1},
                 "begins with a byte order mark, save it without one");
    return false;
  }
  const ParsedText parsed = ParseText(text, prefix, title, message, errors);
  if (parsed.broken) return false;
  unread->insert(unread->end(), parsed.unread.begin(), parsed.unread.end());
  for (const std::string& incomplete : parsed.incomplete) {
    errors.Ignore(incomplete, /*below=*/false);
  }
  locations->RecordParsed(prefix, *message, *parsed.tree, title, text);
  return true;
}

// What one file may not give together, before the command line replaces one of the two. Clears one
// of them, so that all other mistakes are found as if the other stood alone.
void CheckExclusive(proto::RunConfig* run, const SourceLocations& locations, ConfigErrors& errors) {
  const Reflection& values = *run->GetReflection();
  std::vector<const FieldDescriptor*> set;
  values.ListFields(*run, &set);
  for (const FieldDescriptor* field : set) {
    for (const std::string& other : RulesOf(*field).excludes()) {
      if (!IsSet(*run, *run->GetDescriptor()->FindFieldByName(other))) continue;
      errors.AddAt(*locations.FindEnclosing(field->name()),
                   absl::StrCat(field->name(), " is given together with ", other, " (",
                                locations.Where(other), "), want one of them"));
      values.ClearField(run, field);  // it is told
      break;
    }
  }
}

// Makes paths of this machine of those with a scheme. `reads_standard_input`: the configuration
// came from there.
void CheckPaths(const std::string& prefix, bool reads_standard_input, Message* message,
                ConfigErrors& errors) {
  const auto visit = [&](const FieldDescriptor& field, const std::string& path,
                         const std::string& value) {
    const auto refuse = [&](const std::string& why) {
      errors.Add(path, absl::StrCat(path, ": ", value, ": ", why));
      errors.Ignore(path, /*below=*/false);  // whoever reads it says no more
    };
    if (!IsPath(field)) return value;
    const absl::StatusOr<std::string> local = LocalPath(value);
    if (!local.ok()) {
      refuse(std::string(local.status().message()));
    } else if (reads_standard_input && value == kStandardInput) {
      refuse("standard input is the configuration, want a file");
    } else if (absl::StrContains(value, '\0')) {
      refuse("no path has a zero byte");
    } else if (field.name() == "model_dir" && !IsUtf8(value)) {
      refuse("want UTF-8, which event files and `checkpoint` are written in");
    }
    return local.value_or(value);
  };
  ForEachString(message, prefix, visit);
}

void ApplyEdits(const std::vector<Edit>& edits, bool to_model, Message* root,
                SourceLocations* locations, std::vector<std::string>* unread,
                ConfigErrors& errors) {
  for (const Edit& edit : edits) {
    if (IsModelEdit(edit) != to_model) continue;
    const absl::Status status = ApplyEdit(edit, root, locations);
    if (status.ok()) continue;
    errors.Add({.message = std::string(status.message()),
                .location = SourceLocation{.flag = edit.flag},
                .refused = absl::IsUnimplemented(status)});
    unread->push_back(edit.path);
  }
}

}  // namespace

absl::StatusOr<LoadedConfig> LoadConfig(const LoadOptions& options, ConfigErrors& errors) {
  LoadedConfig loaded;
  loaded.run_path = options.config_path;
  std::vector<std::string> unread;
  const absl::StatusOr<std::string> run_text = ReadConfigFile(options.config_path, options.found);
  RETURN_IF_ERROR(Annotate(run_text.status(), options.found ? "--model_dir" : "--config"));
  loaded.of_training = IsOfTraining(options.config_path, *run_text);
  bool sound = ParseFile(options.config_path, *run_text, "", &loaded.run, &loaded.locations,
                         &unread, errors);
  if (!sound) return ErrorList(errors.Lines(loaded.locations), errors.code());
  CheckExclusive(&loaded.run, loaded.locations, errors);
  ResolvePaths(options.config_path, &loaded.run);

  ApplyEdits(options.edits, /*to_model=*/false, &loaded.run, &loaded.locations, &unread, errors);
  ApplyTfConfig(options.tf_config, options.started, &loaded.run, &loaded.locations, errors);
  const bool is_inline = loaded.run.has_model();
  if (is_inline) {
    loaded.model_path = loaded.run_path;
    loaded.model.Swap(loaded.run.mutable_model());
    loaded.run.clear_model();
  }
  CheckPaths("", loaded.run_path == kStandardInput, &loaded.run, errors);
  if (errors.IsIgnored("model_file")) {
    sound = false;
  } else if (!is_inline && loaded.run.has_model_file()) {
    loaded.model_path = loaded.run.model_file();
    const absl::StatusOr<std::string> text = ReadConfigFile(loaded.model_path, /*found=*/false);
    if (!text.ok() && errors.empty()) {
      return Annotate(text.status(), loaded.locations.Where("model_file"));
    }
    if (!text.ok()) errors.Add("model_file", std::string(text.status().message()));
    sound = text.ok() && ParseFile(loaded.model_path, *text, "model", &loaded.model,
                                   &loaded.locations, &unread, errors);
    ResolvePaths(loaded.model_path, &loaded.model);
  }
  ApplyEdits(options.edits, /*to_model=*/true, &loaded.model, &loaded.locations, &unread, errors);
  for (const std::string& path : unread) {
    const bool given = loaded.locations.Find(path) != nullptr ||
                       loaded.locations.Find(ElementPath(path, 0)) != nullptr;
    if (!given) errors.Ignore(path, /*below=*/true);
  }
  CheckPaths("model", false, &loaded.model, errors);
  if (!sound) return ErrorList(errors.Lines(loaded.locations), errors.code());
  return loaded;
}

absl::StatusOr<LoadedConfig> LoadSoundConfig(const LoadOptions& options) {
  ConfigErrors errors;
  ASSIGN_OR_RETURN(LoadedConfig loaded, LoadConfig(options, errors));
  RETURN_IF_ERROR(ErrorList(errors.Lines(loaded.locations), errors.code()));
  return loaded;
}

absl::StatusOr<proto::RunConfig> EffectiveConfig(const LoadedConfig& config) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  if (error) {
    return absl::NotFoundError(absl::StrCat("cannot find the working directory: ", error.message(),
                                            "; it may have been removed, change to another one"));
  }
  proto::RunConfig run = config.run;
  run.clear_model_file();
  if (!config.model_path.empty() || config.model.ByteSizeLong() > 0) {
    *run.mutable_model() = config.model;
  }
  ForEachString(&run, "",
                [&](const FieldDescriptor& field, const std::string&, const std::string& value) {
                  if (!IsPath(field) || !IsLocalRelative(value)) return value;
                  return (folder / value).lexically_normal().string();
                });
  return run;
}

std::vector<std::string> FilesRead(const LoadedConfig& config, const RequiredParts& required) {
  std::vector<std::string> files = {config.run_path, config.model_path};
  const auto is_read = [&](const std::string& path) {
    return (required.train && absl::StartsWith(path, "train.")) ||
           (required.evaluate && absl::StartsWith(path, "evaluate[")) ||
           (required.predict && absl::StartsWith(path, "predict."));
  };
  const auto visit = [&](const FieldDescriptor& field, const std::string& path,
                         const std::string& value) {
    if (!IsPath(field)) return value;
    files.push_back(value);
    // A name that looks like a pattern may be that of a file.
    if (is_read(path) && !FileExists(value)) {
      const auto found = Glob(value).value_or(std::vector<std::string>());
      files.insert(files.end(), found.begin(), found.end());
    }
    return value;
  };
  proto::RunConfig run = config.run;
  ForEachString(&run, "", visit);
  proto::ModelSpec model = config.model;
  ForEachString(&model, "model", visit);
  return files;
}

}  // namespace tpurun
