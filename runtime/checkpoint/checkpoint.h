// Checkpoints: writes the VariableStore as a V2 bundle and reads it back.
//
//   NAME                    every variable, also slots and global_step (int64); of a per-core
//                           variable, the copy of replica 0
//   tpurun/core/NAME        all copies of a per-core variable, [num_replicas, ...]
//   tpurun/input_position   DT_STRING: where the input resumes; empty if it has no positions
//   tpurun/input_files      DT_STRING [N]: the identity of each file of the input, if any
//   tpurun/assets           DT_STRING [N, 2]: name and IdentityOf of each asset, if any
//   tpurun/machine          DT_STRING: instruction set and library that the bits depend on
//   tpurun/model            DT_STRING: what was trained (drift.h); empty if unknown
//   tpurun/evaluation       DT_STRING: the state of train_and_evaluate, if any
// The bytes do not depend on time, worker threads or loop lengths: equal runs give equal bytes.
#ifndef TPURUN_RUNTIME_CHECKPOINT_CHECKPOINT_H_
#define TPURUN_RUNTIME_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/variable_store.h"
#include "runtime/io/directory.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/ir/shape.h"

namespace tpurun {

// The contents of a checkpoint besides variables.
struct RunState {
  std::string input_position;
  std::string machine;
  std::string model = {};
  std::string evaluation = {};  // an EvaluationState in text format
  // InputFile::identity of each file, in the order of the files
  std::vector<std::string> input_files = {};
  std::map<std::string, std::string> assets = {};  // TrainedFolder::assets
};

// DIR/model.ckpt-STEP.
std::string CheckpointPrefix(const std::string& model_dir, int64_t step);

// Aborted, with the name of the variable, if a value is NaN or infinite.
absl::Status CheckFinite(const VariableStore& store);

// Aborted as in CheckFinite; nothing is written then.
absl::Status WriteCheckpoint(const VariableStore& store, const RunState& state,
                             const FilePath& prefix);

// The latest checkpoint of a model_dir. nullopt if model_dir has none or does not exist.
absl::StatusOr<std::optional<std::string>> LatestCheckpoint(const std::string& model_dir);

// A checkpoint open for reading. Every byte of it has been verified.
class Checkpoint {
 public:
  // Opens the latest checkpoint of a directory, or the checkpoint of a prefix, as OpenCheckpoint.
  // NotFound if it does not exist, DataLoss if it is damaged.
  static absl::StatusOr<Checkpoint> Open(const std::string& path);

  const BundleReader& reader() const { return *reader_; }
  const std::string& prefix() const { return reader_->prefix(); }
  // The directory of the checkpoint.
  std::string dir() const { return DirName(prefix()); }
  // 0 if the checkpoint has no global_step.
  absl::StatusOr<int64_t> GlobalStep() const;
  // Empty if TensorFlow wrote the checkpoint.
  absl::StatusOr<RunState> ReadRunState() const;

  // Reads every variable of the store but those of scope `state`, which are read only if
  // `with_state`. `name_of` gives the name of a variable in the checkpoint. InvalidArgument lists
  // the first variables that are absent or of another type or shape; nothing is changed then.
  using NameOf = std::function<std::string(const Variable& variable)>;
  absl::Status Restore(
      bool with_state, VariableStore& store,
      const NameOf& name_of = [](const Variable& variable) { return variable.name; }) const;
  // The same for some variables: `names` maps the name in the store to the name in the checkpoint.
  // Reads one copy of each variable.
  absl::Status RestoreAs(const std::map<std::string, std::string>& names,
                         VariableStore& store) const;
  // The names of the checkpoint's variables that the store does not have.
  std::vector<std::string> NotIn(const VariableStore& store) const;

 private:
  // The bytes of one variable: one copy, or `copies` copies one after the other.
  struct Read {
    std::string name;
    int copies;
    std::string bytes;
  };
  explicit Checkpoint(std::unique_ptr<BundleReader> reader) : reader_(std::move(reader)) {}
  // The mistake in the entry for this variable. Empty if the entry fits.
  std::string Mismatch(const std::string& name, const Shape& shape) const;
  // `of_another` names what differs: "model" or "optimizer".
  absl::Status Differs(const std::vector<std::string>& mistakes, size_t num_variables,
                       const std::string& of_another) const;
  absl::StatusOr<std::string> ReadString(const std::string& name) const;
  static void Apply(const std::vector<Read>& reads, VariableStore& store);

  std::unique_ptr<BundleReader> reader_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_CHECKPOINT_H_
