#include "runtime/checkpoint/saver.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

// The index first: without it the checkpoint does not exist.
absl::Status DeleteCheckpoint(const Directory& dir, const std::string& name) {
  RETURN_IF_ERROR(RemoveFile({dir, BundleIndexPath(name)}));
  RETURN_IF_ERROR(RemoveFile({dir, name + ".meta"}));
  const std::string data = name + ".data-";
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDirectory(dir));
  for (const std::string& file : files) {
    if (file.starts_with(data)) RETURN_IF_ERROR(RemoveFile({dir, file}));
  }
  return absl::OkStatus();
}

bool Lists(const CheckpointState& state, const std::string& prefix) {
  return prefix == state.latest ||
         std::find(state.all.begin(), state.all.end(), prefix) != state.all.end();
}

bool Names(const PendingSave& pending, const std::string& prefix) {
  return prefix == pending.writing || std::find(pending.deleting.begin(), pending.deleting.end(),
                                                prefix) != pending.deleting.end();
}

// Ends the save that `checkpoint.pending` tells of, completed or given up: deletes what it was to
// delete when `checkpoint` lists its checkpoint, else what it has written.
absl::Status EndPendingSave(const Directory& dir, const PendingSave& pending) {
  absl::StatusOr<CheckpointState> state = ReadCheckpointState(dir);
  if (!state.ok() && IsAbsent({dir, BaseName(CheckpointStatePath(dir.path()))})) {
    state = CheckpointState();
  }
  RETURN_IF_ERROR(state.status());
  std::vector<std::string> unwanted = {pending.writing};
  if (Lists(*state, pending.writing)) unwanted = pending.deleting;
  for (const std::string& prefix : unwanted) {
    if (DirName(prefix) != dir.path() || Lists(*state, prefix)) continue;
    RETURN_IF_ERROR(DeleteCheckpoint(dir, BaseName(prefix)));
  }
  return RemoveFile(PendingSavePath(dir));
}

absl::Status EndRecordedSave(const Directory& dir) {
  const absl::StatusOr<PendingSave> pending = ReadPendingSave(dir);
  if (!pending.ok()) {
    if (IsAbsent(PendingSavePath(dir))) return absl::OkStatus();
    LOG(WARNING) << "What a killed run has left is not removed: " << pending.status().message();
    return absl::OkStatus();
  }
  // Only what a durable `checkpoint` does not list may go.
  RETURN_IF_ERROR(SyncDirectory(dir));
  return EndPendingSave(dir, *pending);
}

// The step of model.ckpt-STEP.index; nullopt for other names.
std::optional<int64_t> StepOfIndex(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "model.ckpt-") || !absl::ConsumeSuffix(&name, ".index")) {
    return std::nullopt;
  }
  return ParseInt64(std::string(name));
}

}  // namespace

Saver::Saver(SaverOptions options) : options_(std::move(options)) { KeepNextAfter(options_.now()); }

void Saver::KeepNextAfter(double time) {
  keep_next_after_ = time + options_.keep_checkpoint_every_n_hours * 3600;
}

absl::StatusOr<Saver> Saver::Open(SaverOptions options) {
  Saver saver(std::move(options));
  absl::StatusOr<CheckpointState> state = ReadCheckpointState(saver.options_.model_dir);
  if (!state.ok() && IsAbsent(CheckpointStatePath(saver.options_.model_dir))) return saver;
  RETURN_IF_ERROR(state.status());
  const double now = saver.options_.now();
  for (size_t i = 0; i < state->all.size(); ++i) {
    if (DirName(state->all[i]) != saver.options_.model_dir) continue;  // not ours to delete
    if (!FileExists(BundleIndexPath(state->all[i]))) {
      LOG(WARNING) << "Leaving out checkpoint " << state->all[i]
                   << ", which `checkpoint` lists: its files are gone.";
      continue;
    }
    saver.state_.all.push_back(state->all[i]);
    saver.state_.timestamps.push_back(i < state->timestamps.size() ? state->timestamps[i] : now);
  }
  saver.state_.latest = state->latest;
  saver.state_.last_preserved = state->last_preserved;
  if (state->last_preserved > 0) saver.KeepNextAfter(state->last_preserved);
  return saver;
}

absl::Status Saver::Sweep(const Directory& dir) const {
  RETURN_IF_ERROR(RemoveTemporaryFiles(dir));
  return EndRecordedSave(dir);
}

absl::Status Saver::CheckUnlisted(const Directory& dir, int64_t first_step,
                                  int64_t last_step) const {
  if (!dir.is_open()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  const absl::StatusOr<PendingSave> pending = ReadPendingSave(dir);
  std::set<int64_t> unlisted;
  for (const std::string& name : names) {
    const std::optional<int64_t> step = StepOfIndex(name);
    if (!step.has_value() || *step < first_step || *step > last_step) continue;
    const std::string prefix = CheckpointPrefix(options_.model_dir, *step);
    if (Lists(state_, prefix) || (pending.ok() && Names(*pending, prefix))) continue;
    unlisted.insert(*step);
  }
  if (unlisted.empty()) return absl::OkStatus();
  const std::string newest = CheckpointPrefix(options_.model_dir, *unlisted.rbegin());
  const std::string list = CheckpointStatePath(options_.model_dir);
  return absl::PermissionDeniedError(absl::StrCat(
      "training from step ", first_step, " would write over ", newest,
      unlisted.size() == 1 ? "" : absl::StrCat(" and ", unlisted.size() - 1, " earlier"),
      ", which ", list, " does not list: to go on from it, name it there (the first line: ",
      "model_checkpoint_path: \"", BaseName(newest),
      "\"); to begin with its weights, take another model_dir and --set "
      "warm_start_from.ckpt_to_initialize_from=",
      newest, "; else move it away"));
}

absl::Status Saver::Save(const Directory& dir, const VariableStore& store, const RunState& run,
                         int64_t step) {
  const std::string prefix = CheckpointPrefix(options_.model_dir, step);
  List(prefix, options_.now());
  const PendingSave pending = {.writing = prefix, .deleting = Retire()};
  const auto save = [&]() -> absl::Status {
    RETURN_IF_ERROR(WritePendingSave(dir, pending));
    RETURN_IF_ERROR(WriteCheckpoint(store, run, {dir, BaseName(prefix)}));
    return WriteCheckpointState(dir, state_);
  };
  const absl::Status saved = save();
  if (saved.ok()) return EndPendingSave(dir, pending);
  // Where even this fails, the next start tries again.
  EndRecordedSave(dir).IgnoreError();
  return saved;
}

absl::Status Saver::MakeLatest(const Directory& dir, const std::string& prefix) {
  const auto listed = std::find(state_.all.begin(), state_.all.end(), prefix);
  if (listed == state_.all.end()) {
    return absl::NotFoundError(
        absl::StrCat(CheckpointStatePath(options_.model_dir), " does not list ", prefix));
  }
  List(prefix, state_.timestamps[listed - state_.all.begin()]);
  return WriteCheckpointState(dir, state_);
}

void Saver::List(const std::string& prefix, double time) {
  const auto listed = std::find(state_.all.begin(), state_.all.end(), prefix);
  if (listed != state_.all.end()) {
    state_.timestamps.erase(state_.timestamps.begin() + (listed - state_.all.begin()));
    state_.all.erase(listed);
  }
  state_.all.push_back(prefix);
  state_.timestamps.push_back(time);
  state_.latest = prefix;
}

std::vector<std::string> Saver::Retire() {
  std::vector<std::string> dropped;
  const size_t keep = options_.keep_checkpoint_max;
  size_t oldest = 0;
  while (keep > 0 && state_.all.size() > keep + oldest) {
    const auto prefix = state_.all.begin() + static_cast<ptrdiff_t>(oldest);
    const auto timestamp = state_.timestamps.begin() + static_cast<ptrdiff_t>(oldest);
    if (kept_.count(*prefix) > 0) {
      ++oldest;
      continue;
    }
    if (*timestamp > keep_next_after_) {
      state_.last_preserved = *timestamp;
      keep_next_after_ += options_.keep_checkpoint_every_n_hours * 3600;
    } else {
      dropped.push_back(*prefix);
    }
    state_.all.erase(prefix);
    state_.timestamps.erase(timestamp);
  }
  return dropped;
}

}  // namespace tpurun
