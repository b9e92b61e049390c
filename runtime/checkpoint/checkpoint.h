// Checkpoints: the VariableStore as a V2 bundle, and back.
//
//   NAME                    every variable, slots and global_step (int64) too; of a per-core one
//                           replica 0's copy
//   tpurun/core/NAME        all copies of a per-core one, [num_replicas, ...]
//   tpurun/input_position   DT_STRING: where the input goes on; empty when it cannot
//   tpurun/input_files      DT_STRING [N]: the identity of each file of the input, if any
//   tpurun/assets           DT_STRING [N, 2]: name and IdentityOf of each asset, if any
//   tpurun/machine          DT_STRING: instruction set and library that the bits depend on
//   tpurun/model            DT_STRING: what was trained (drift.h); empty when that is not known
//   tpurun/evaluation       DT_STRING: what train_and_evaluate carries on; absent without
// Nothing in it depends on time, worker threads or loop lengths: equal runs give equal bytes.
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

// What a checkpoint holds besides variables.
struct RunState {
  std::string input_position;
  std::string machine;
  std::string model = {};
  std::string evaluation = {};                // an EvaluationState in text format
  std::vector<std::string> input_files = {};  // of each its InputFile::identity, in their order
  std::map<std::string, std::string> assets = {};  // TrainedFolder::assets
};

// DIR/model.ckpt-STEP.
std::string CheckpointPrefix(const std::string& model_dir, int64_t step);

// Aborted, naming the variable, when a value is NaN or infinite.
absl::Status CheckFinite(const VariableStore& store);

// Aborted as CheckFinite; then nothing is written.
absl::Status WriteCheckpoint(const VariableStore& store, const RunState& state,
                             const FilePath& prefix);

// The latest checkpoint of a model_dir; nullopt when it has none (or does not exist).
absl::StatusOr<std::optional<std::string>> LatestCheckpoint(const std::string& model_dir);

// A checkpoint open for reading, every byte of it verified.
class Checkpoint {
 public:
  // The latest one of a directory, or that of a prefix, as OpenCheckpoint. NotFound when it does
  // not exist, DataLoss when it is damaged.
  static absl::StatusOr<Checkpoint> Open(const std::string& path);

  const BundleReader& reader() const { return *reader_; }
  const std::string& prefix() const { return reader_->prefix(); }
  // The folder that it is in.
  std::string dir() const { return DirName(prefix()); }
  // 0 when it has none.
  absl::StatusOr<int64_t> GlobalStep() const;
  // Empty where the checkpoint is TensorFlow's.
  absl::StatusOr<RunState> ReadRunState() const;

  // Reads every variable of the store that has the scope `model`, those of scope `state` too when
  // `with_state`, each by the name that `name_of` gives it here. Nothing is changed unless all are
  // there with the right type and shape: InvalidArgument lists the first that are not.
  using NameOf = std::function<std::string(const Variable& variable)>;
  absl::Status Restore(
      bool with_state, VariableStore& store,
      const NameOf& name_of = [](const Variable& variable) { return variable.name; }) const;
  // The same for some variables: name in the store -> name in the checkpoint. Reads one copy each.
  absl::Status RestoreAs(const std::map<std::string, std::string>& names,
                         VariableStore& store) const;
  // The variables of the checkpoint that the store does not have, by name.
  std::vector<std::string> NotIn(const VariableStore& store) const;

 private:
  // The bytes of one variable: one copy, or `copies` of them.
  struct Read {
    std::string name;
    int copies;
    std::string bytes;
  };
  explicit Checkpoint(std::unique_ptr<BundleReader> reader) : reader_(std::move(reader)) {}
  // What is wrong with the entry for this variable; empty when it fits.
  std::string Mismatch(const std::string& name, const Shape& shape) const;
  // `of_another` says what differs: "model" or "optimizer".
  absl::Status Differs(const std::vector<std::string>& mistakes, size_t num_variables,
                       const std::string& of_another) const;
  absl::StatusOr<std::string> ReadString(const std::string& name) const;
  static void Apply(const std::vector<Read>& reads, VariableStore& store);

  std::unique_ptr<BundleReader> reader_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_CHECKPOINT_H_
