// The text file `checkpoint` of a model directory. It names the latest checkpoint and all kept
// ones, as a CheckpointState (proto/checkpoint_state.proto) in text format.
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

// The prefixes of checkpoints are paths that include the directory. The file has them relative to
// the directory if possible.
struct CheckpointState {
  std::string latest;
  // Oldest first; the last one is `latest`.
  std::vector<std::string> all;
  // When each checkpoint of `all` was written, in seconds since 1970. Empty if an older TensorFlow
  // wrote the file.
  std::vector<double> timestamps;
  // When the latest checkpoint that is kept for ever was written, in seconds since 1970. 0 if there
  // is none.
  double last_preserved = 0;
};

// "DIR/checkpoint".
std::string CheckpointStatePath(const std::string& dir);

// "DIR/run_config.pbtxt", the effective configuration of the training in DIR.
std::string RunConfigPath(const std::string& dir);

// The files that a training keeps in `dir`: `checkpoint`, all .pbtxt (its configuration, its graph,
// its best checkpoint), vocabulary.txt, those of checkpoints, and event files. Empty if the
// directory cannot be listed.
std::vector<std::string> FilesOfTraining(const std::string& dir);

// The first line of run_config.pbtxt, a comment. It marks a copy of the file, whatever the name of
// the copy.
inline constexpr char kRunConfigMark[] =
    "# Written by a training of tpurun. Its hooks run only with --run_hooks, wherever it is copied "
    "to; "
    "delete this line to make them your own.";

// NotFound if the directory has no such file or if it cannot be read. DataLoss if the file has more
// than 1 MiB, names no checkpoint or is damaged (with line and column).
absl::StatusOr<CheckpointState> ReadCheckpointState(const FilePath& dir);

// Writes the file atomically. The checkpoints must be complete before the call. If the list has
// more than 1 MiB (8,000 checkpoints or more), its oldest checkpoints are left out.
absl::Status WriteCheckpointState(const FilePath& dir, const CheckpointState& state);

// The file `checkpoint.pending` beside `checkpoint` exists while a checkpoint is saved. It names
// the checkpoint that is being written, and the ones that are deleted once `checkpoint` lists the
// new one. Prefixes as in CheckpointState.
struct PendingSave {
  std::string writing;
  std::vector<std::string> deleting;
};

FilePath PendingSavePath(const FilePath& dir);
// Errors as in ReadCheckpointState.
absl::StatusOr<PendingSave> ReadPendingSave(const FilePath& dir);
absl::Status WritePendingSave(const FilePath& dir, const PendingSave& pending);

// The functions below are for a directory in which a training may be deleting old checkpoints. The
// training deletes only after `checkpoint` names a newer checkpoint.

// Calls `use` with the prefix of the latest checkpoint of the directory. If `use` fails and
// `checkpoint` then names another checkpoint, calls `use` with that one. Returns the last error of
// `use`, or NotFound if there is no checkpoint.
absl::Status WithLatestCheckpoint(
    const std::string& dir, const std::function<absl::Status(const std::string& prefix)>& use);

// The prefix of the checkpoint that a user names by its directory (the latest checkpoint in it),
// its prefix or its .index file. NotFound if there is none; with a prefix, IsDeletedCheckpoint is
// then true too. DataLoss if `checkpoint` names a checkpoint that is gone.
absl::StatusOr<std::string> ResolveCheckpoint(const std::string& path);

// Opens that checkpoint. Files that are deleted later can still be read. Errors as in
// ResolveCheckpoint and BundleReader::Open. A checkpoint that is named by its prefix and is absent,
// or vanishes in between, is NotFound with IsDeletedCheckpoint.
absl::StatusOr<std::unique_ptr<BundleReader>> OpenCheckpoint(const std::string& path);
bool IsDeletedCheckpoint(const absl::Status& status);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_CHECKPOINT_STATE_H_
