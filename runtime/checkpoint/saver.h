// Saver: lists the checkpoints of a model_dir, writes the next one and deletes old ones. As
// tf.train.Saver, it keeps the newest keep_checkpoint_max checkpoints, and for ever one checkpoint
// per keep_checkpoint_every_n_hours.
#ifndef TPURUN_RUNTIME_CHECKPOINT_SAVER_H_
#define TPURUN_RUNTIME_CHECKPOINT_SAVER_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/directory.h"

namespace tpurun {

struct SaverOptions {
  std::string model_dir;
  int64_t keep_checkpoint_max = 5;  // 0: all
  double keep_checkpoint_every_n_hours = 10000;
  std::function<double()> now;  // seconds since 1970
};

class Saver {
 public:
  // For a model_dir without checkpoints.
  explicit Saver(SaverOptions options);
  // Reads the list of checkpoints and writes nothing. A listed checkpoint without files is left
  // out, with a warning.
  static absl::StatusOr<Saver> Open(SaverOptions options);

  const std::string& model_dir() const { return options_.model_dir; }
  // The prefix of the latest checkpoint, or empty if there is none.
  const std::string& latest() const { return state_.latest; }
  // Removes the leftovers of a killed run in model_dir, open as `dir`: temporary files, the
  // checkpoint that it was writing, and the checkpoints that it was about to delete. Other unlisted
  // checkpoints stay. Only for the one process that writes to model_dir: a
  // training calls it after it has read the checkpoint and before its first write.
  absl::Status Sweep(const Directory& dir) const;
  // PermissionDenied if model_dir, open as `dir` or absent, has a checkpoint of a step in
  // [first_step, last_step] that is neither listed nor a leftover of a killed run: Save would
  // overwrite it.
  absl::Status CheckUnlisted(const Directory& dir, int64_t first_step, int64_t last_step) const;
  // The checkpoints of these prefixes are kept, however many newer checkpoints exist.
  void Keep(std::set<std::string> prefixes) { kept_ = std::move(prefixes); }
  // Writes model.ckpt-STEP into model_dir, open as `dir`. Then writes the `checkpoint` file with it
  // as the latest, and then deletes the checkpoints that are no longer listed. After a kill at any
  // moment, the latest checkpoint in `checkpoint` is complete, and Sweep removes temporary files
  // and the files that checkpoint.pending names. After an error the files of model.ckpt-STEP are
  // removed, unless `checkpoint` already lists it.
  absl::Status Save(const Directory& dir, const VariableStore& store, const RunState& run,
                    int64_t step);
  // Makes the listed checkpoint the latest one, whatever its step, and writes the `checkpoint`
  // file. The others stay listed before it. NotFound if it is not listed.
  absl::Status MakeLatest(const Directory& dir, const std::string& prefix);

 private:
  // The next checkpoint kept for ever is one written more than keep_checkpoint_every_n_hours after
  // `time` (seconds since 1970).
  void KeepNextAfter(double time);
  // Appends the checkpoint to the list, or moves it to the end. `time`: when it was written.
  void List(const std::string& prefix, double time);
  // Removes the oldest checkpoints from the list. Returns the prefixes of the ones to delete.
  std::vector<std::string> Retire();

  SaverOptions options_;
  CheckpointState state_;
  std::set<std::string> kept_;  // prefixes that are kept whatever their age
  double keep_next_after_ = 0;  // seconds since 1970; a checkpoint written later is kept for ever
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_SAVER_H_
