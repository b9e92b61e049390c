// The text file `checkpoint` of a model directory, which names the latest checkpoint and those that
// are kept: a CheckpointState (proto/checkpoint_state.proto) in text format.
#ifndef TPURUN_RUNTIME_IO_CHECKPOINT_STATE_H_
#define TPURUN_RUNTIME_IO_CHECKPOINT_STATE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/directory.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {

// Prefixes as paths (the directory included). In the file they are relative to it where they can
// be.
struct CheckpointState {
  std::string latest;
  // Oldest first; the last one is `latest`.
  std::vector<std::string> all;
  // When each of `all` was written, in seconds since 1970; empty in files of older TensorFlows.
  std::vector<double> timestamps;
  // When the latest checkpoint that is kept for good was written; 0 for none.
  double last_preserved = 0;
};

// "DIR/checkpoint".
std::string CheckpointStatePath(const std::string& dir);

// "DIR/run_config.pbtxt", the effective configuration of the training in DIR.
std::string RunConfigPath(const std::string& dir);

// Its first line, a comment: by it a copy is known, whatever its name.
inline constexpr char kRunConfigMark[] =
    "# Written by a training of tpurun. Its hooks run only with --run_hooks, wherever it is copied "
    "to; "
    "delete this line to make them your own.";

// NotFound when the directory has no such file or it cannot be read, DataLoss when it has more than
// 1 MiB, names no checkpoint, or, with line and column, is damaged.
absl::StatusOr<CheckpointState> ReadCheckpointState(const FilePath& dir);

// Written atomically. The checkpoints must be complete before. A list of more than 1 MiB (8,000
// checkpoints or more) is written without its oldest.
absl::Status WriteCheckpointState(const FilePath& dir, const CheckpointState& state);

// The file `checkpoint.pending` beside it, there while a checkpoint is saved: the one that is being
// written, and those that are deleted once `checkpoint` lists it. Prefixes as in CheckpointState.
struct PendingSave {
  std::string writing;
  std::vector<std::string> deleting;
};

FilePath PendingSavePath(const FilePath& dir);
// Errors as of ReadCheckpointState.
absl::StatusOr<PendingSave> ReadPendingSave(const FilePath& dir);
absl::Status WritePendingSave(const FilePath& dir, const PendingSave& pending);

// What follows is for a directory in which a training may be deleting old checkpoints: it does so
// only once `checkpoint` names a newer one.

// Calls `use` with the prefix of the latest checkpoint of the directory; where that fails and
// `checkpoint` names another one by then, with that one. The last error of `use`; NotFound when
// there is no checkpoint.
absl::Status WithLatestCheckpoint(
    const std::string& dir, const std::function<absl::Status(const std::string& prefix)>& use);

// The prefix of the checkpoint that a user names by its directory (the latest one in it), its
// prefix or its .index file. NotFound when there is none, and IsDeletedCheckpoint where it is named
// by its prefix; DataLoss when `checkpoint` names one that is gone.
absl::StatusOr<std::string> ResolveCheckpoint(const std::string& path);

// Opens that checkpoint; what is deleted then can still be read. Errors are those of
// ResolveCheckpoint and of BundleReader::Open. One that is named by its prefix and is not there, or
// vanishes between, is NotFound, and IsDeletedCheckpoint.
absl::StatusOr<std::unique_ptr<BundleReader>> OpenCheckpoint(const std::string& path);
bool IsDeletedCheckpoint(const absl::Status& status);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_CHECKPOINT_STATE_H_
