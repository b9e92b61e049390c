#include "runtime/io/checkpoint_state.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/checkpoint_state.pb.h"
#include "proto/text_errors.h"
#include "runtime/base/status.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// More than 8,000 checkpoints take.
constexpr uint64_t kMaxStateBytes = 1 << 20;

// What protobuf says of an unknown field names its own type; the user wants to know the right name.
std::string Improved(const std::string& message) {
  constexpr char kUnknown[] = "has no field named ";
  const size_t at = message.find(kUnknown);
  if (at == std::string::npos) return message;
  std::string name = message.substr(at + sizeof(kUnknown) - 1);
  while (!name.empty() && name.back() == '.') name.pop_back();
  return absl::StrCat("unknown field ", name, ", want model_checkpoint_path: \"model.ckpt-N\"");
}

std::string RelativeTo(const std::string& dir, const std::string& path) {
  return DirName(path) == dir ? BaseName(path) : path;
}

constexpr char kCheckpoint[] = "checkpoint";
constexpr char kPending[] = "checkpoint.pending";
constexpr char kDeletedCheckpoint[] = "tpurun/deleted_checkpoint";  // a status' payload

// Without the `left_out` oldest of the list.
absl::StatusOr<std::string> StateText(const FilePath& dir, const CheckpointState& state,
                                      size_t left_out) {
  tensorflow::CheckpointState proto;
  proto.set_model_checkpoint_path(RelativeTo(dir.text(), state.latest));
  for (size_t i = left_out; i < state.all.size(); ++i) {
    proto.add_all_model_checkpoint_paths(RelativeTo(dir.text(), state.all[i]));
  }
  for (size_t i = left_out; i < state.timestamps.size(); ++i) {
    proto.add_all_model_checkpoint_timestamps(state.timestamps[i]);
  }
  proto.set_last_preserved_timestamp(state.last_preserved);
  std::string text;
  if (google::protobuf::TextFormat::PrintToString(proto, &text)) return text;
  return absl::InternalError(absl::StrCat("cannot print the list of ", dir.text()));
}

FilePath Inside(const FilePath& dir, const char* name) {
  return dir.WithName(JoinPath(dir.name(), name));
}

absl::StatusOr<CheckpointState> ReadState(const FilePath& dir, const char* name) {
  const std::string path = Inside(dir, name).text();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(Inside(dir, name), kMaxStateBytes));
  tensorflow::CheckpointState proto;
  google::protobuf::TextFormat::Parser parser;
  FirstTextError errors;
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(text, &proto)) {
    const FirstTextError::Error error = errors.error().value_or(FirstTextError::Error{});
    return absl::DataLossError(
        absl::StrCat(path, ":", error.line, ":", error.column, ": ", Improved(error.message)));
  }
  if (proto.model_checkpoint_path().empty()) {
    return absl::DataLossError(absl::StrCat(path,
                                            ": names no checkpoint: no "
                                            "model_checkpoint_path"));
  }
  CheckpointState state;
  state.latest = JoinPath(dir.text(), proto.model_checkpoint_path());
  for (const std::string& prefix : proto.all_model_checkpoint_paths()) {
    state.all.push_back(JoinPath(dir.text(), prefix));
  }
  state.timestamps.assign(proto.all_model_checkpoint_timestamps().begin(),
                          proto.all_model_checkpoint_timestamps().end());
  state.last_preserved = proto.last_preserved_timestamp();
  return state;
}

absl::Status WriteState(const FilePath& dir, const char* name, const CheckpointState& state) {
  ASSIGN_OR_RETURN(std::string text, StateText(dir, state, 0));
  // What is written can be read again.
  for (size_t left_out = 0; text.size() > kMaxStateBytes && left_out < state.all.size();) {
    left_out += (state.all.size() - left_out) / 16 + 1;
    ASSIGN_OR_RETURN(text, StateText(dir, state, left_out));
  }
  return WriteFileAtomically(Inside(dir, name), text);
}

// That `checkpoint` of the directory names one that is there.
absl::Status CheckListed(const std::string& dir, const std::string& prefix) {
  // A file of that name is left to BundleReader, which knows V1 checkpoints.
  if (!IsAbsent(BundleIndexPath(prefix)) || FileExists(prefix)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(CheckpointStatePath(dir), ": names ", prefix,
                                          ", but there is no ", BundleIndexPath(prefix)));
}

absl::Status AbsentCheckpoint(const std::string& message) {
  absl::Status status = absl::NotFoundError(message);
  status.SetPayload(kDeletedCheckpoint, absl::Cord());
  return status;
}

absl::Status DeletedCheckpoint(const std::string& prefix) {
  return AbsentCheckpoint(
      absl::StrCat("checkpoint ", prefix,
                   " was deleted while it was being read; name one that is kept, or the "
                   "folder, whose newest one is then taken"));
}

}  // namespace

std::string CheckpointStatePath(const std::string& dir) { return JoinPath(dir, kCheckpoint); }

std::string RunConfigPath(const std::string& dir) { return JoinPath(dir, "run_config.pbtxt"); }

std::vector<std::string> FilesOfTraining(const std::string& dir) {
  std::vector<std::string> files;
  for (const std::string& name : ListDirectory(dir).value_or(std::vector<std::string>())) {
    if (name == kCheckpoint || name == kPending || name == "vocabulary.txt" ||
        absl::EndsWith(name, ".pbtxt") || absl::StartsWith(name, "model.ckpt-") ||
        IsEventFileName(name)) {
      files.push_back(JoinPath(dir, name));
    }
  }
  return files;
}

absl::StatusOr<CheckpointState> ReadCheckpointState(const FilePath& dir) {
  return ReadState(dir, kCheckpoint);
}

absl::Status WriteCheckpointState(const FilePath& dir, const CheckpointState& state) {
  return WriteState(dir, kCheckpoint, state);
}

FilePath PendingSavePath(const FilePath& dir) { return Inside(dir, kPending); }

absl::StatusOr<PendingSave> ReadPendingSave(const FilePath& dir) {
  ASSIGN_OR_RETURN(CheckpointState state, ReadState(dir, kPending));
  return PendingSave{.writing = std::move(state.latest), .deleting = std::move(state.all)};
}

absl::Status WritePendingSave(const FilePath& dir, const PendingSave& pending) {
  return WriteState(dir, kPending, {.latest = pending.writing, .all = pending.deleting});
}

absl::Status WithLatestCheckpoint(
    const std::string& dir, const std::function<absl::Status(const std::string& prefix)>& use) {
  while (true) {
    const absl::StatusOr<CheckpointState> state = ReadCheckpointState(dir);
    if (!state.ok() && IsAbsent(CheckpointStatePath(dir))) {
      return absl::NotFoundError(
          absl::StrCat("no checkpoint in ", dir, ": it has no file named \"checkpoint\""));
    }
    RETURN_IF_ERROR(state.status());
    absl::Status used = use(state->latest);
    if (used.ok()) return used;
    const absl::StatusOr<CheckpointState> now = ReadCheckpointState(dir);
    if (now.ok() && now->latest == state->latest) return used;
  }
}

absl::StatusOr<std::string> ResolveCheckpoint(const std::string& path) {
  if (IsDirectory(path)) {
    std::string latest;
    RETURN_IF_ERROR(WithLatestCheckpoint(path, [&](const std::string& prefix) {
      latest = prefix;
      return CheckListed(path, prefix);
    }));
    return latest;
  }
  std::string prefix = path;
  if (absl::EndsWith(prefix, ".index")) prefix.resize(prefix.size() - std::string(".index").size());
  if (!IsAbsent(BundleIndexPath(prefix))) return prefix;
  if (FileExists(prefix)) return prefix;
  return AbsentCheckpoint(
      absl::StrCat("no checkpoint ", path, ": there is no ", BundleIndexPath(prefix)));
}

absl::StatusOr<std::unique_ptr<BundleReader>> OpenCheckpoint(const std::string& path) {
  std::unique_ptr<BundleReader> opened;
  const auto open = [&](const std::string& prefix) -> absl::Status {
    ASSIGN_OR_RETURN(opened, BundleReader::Open(prefix));
    return absl::OkStatus();
  };
  if (IsDirectory(path)) {
    RETURN_IF_ERROR(WithLatestCheckpoint(path, [&](const std::string& prefix) -> absl::Status {
      RETURN_IF_ERROR(CheckListed(path, prefix));
      return open(prefix);
    }));
    return opened;
  }
  ASSIGN_OR_RETURN(const std::string prefix, ResolveCheckpoint(path));
  const absl::Status status = open(prefix);
  if (status.ok()) return opened;
  // The index goes first.
  const bool is_gone = IsAbsent(BundleIndexPath(prefix)) && !FileExists(prefix);
  return is_gone ? DeletedCheckpoint(prefix) : status;
}

bool IsDeletedCheckpoint(const absl::Status& status) {
  return status.GetPayload(kDeletedCheckpoint).has_value();
}

}  // namespace tpurun
