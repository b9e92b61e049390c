// Saver: which checkpoints of a model_dir exist, writing the next one, dropping old ones. After
// tf.train.Saver: the newest keep_checkpoint_max are kept, and for ever one each
// keep_checkpoint_every_n_hours.
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
  // Of a model_dir that has no checkpoints.
  explicit Saver(SaverOptions options);
  // Reads the list of checkpoints and writes nothing. A listed one whose files are gone is left
  // out, with a warning.
  static absl::StatusOr<Saver> Open(SaverOptions options);

  const std::string& model_dir() const { return options_.model_dir; }
  // The prefix of the latest checkpoint; empty when there is none.
  const std::string& latest() const { return state_.latest; }
  // Removes what a killed run left in model_dir, open as `dir`: its temporary files, the checkpoint
  // that it was writing, and those that it was about to delete. Other checkpoints that are not
  // listed stay. Only for the one process that writes to model_dir.
  absl::Status Sweep(const Directory& dir) const;
  // PermissionDenied when model_dir, open as `dir` or absent, holds a checkpoint of one of these
  // steps that is neither listed nor left by a killed run: Save would write over it.
  absl::Status CheckUnlisted(const Directory& dir, int64_t first_step, int64_t last_step) const;
  // The checkpoints of these prefixes stay, however many are newer.
  void Keep(std::set<std::string> prefixes) { kept_ = std::move(prefixes); }
  // Writes model.ckpt-STEP into model_dir, open as `dir`; then the `checkpoint` file, with it as
  // the latest; then deletes the checkpoints that fell off the list. A kill at any moment leaves a
  // `checkpoint` whose latest checkpoint is complete, and temporary or unlisted files that Sweep
  // removes. After an error the files of model.ckpt-STEP are removed, unless `checkpoint` already
  // lists it.
  absl::Status Save(const Directory& dir, const VariableStore& store, const RunState& run,
                    int64_t step);

 private:
  // A checkpoint written so long after this time is kept for ever.
  void KeepNextAfter(double time);
  // Puts it at the end of the list.
  void List(const std::string& prefix);
  // Takes the oldest checkpoints off the list, those to delete being returned.
  std::vector<std::string> Retire();

  SaverOptions options_;
  CheckpointState state_;
  std::set<std::string> kept_;  // whatever their age
  double keep_next_after_ = 0;  // a checkpoint written after this is kept for ever
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_SAVER_H_
