// VariableStore: the variables of a Session by name. Programs bind to their memory.
#ifndef TPURUN_RUNTIME_CHECKPOINT_VARIABLE_STORE_H_
#define TPURUN_RUNTIME_CHECKPOINT_VARIABLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/dcheck.h"
#include "runtime/ir/graph.h"
#include "runtime/ir/literal.h"

namespace tpurun {

// One variable. A per-core variable has one copy per replica, any other has one copy for all
// replicas. Each copy is aligned to 64 bytes. C++ copies of a StoredVariable share its values.
class StoredVariable {
 public:
  StoredVariable(Variable variable, int copies);

  const Variable& variable() const { return variable_; }
  int copies() const { return copies_; }
  int64_t copy_bytes() const { return variable_.shape.bytes(); }
  std::byte* copy(int index) { return const_cast<std::byte*>(std::as_const(*this).copy(index)); }
  const std::byte* copy(int index) const {
    TPURUN_DCHECK(index >= 0 && index < copies_);
    return data_.get() + index * stride_;
  }

 private:
  Variable variable_;
  int copies_;
  int64_t stride_;
  std::shared_ptr<std::byte> data_;
};

class VariableStore {
 public:
  // The variables of all replicas of a run, or those of one process: `replicas` have the copies of
  // its per-core variables.
  explicit VariableStore(int num_replicas) : VariableStore({num_replicas, 0, num_replicas}) {}
  explicit VariableStore(const ReplicaRange& replicas) : replicas_(replicas) {}

  // Adds the variables that the store does not have yet, with values 0. A variable that exists with
  // another shape is an error.
  absl::Status Add(const std::vector<Variable>& variables);
  // Adds a variable that shares its values with a variable of another store, now and later.
  // Internal if a variable of that name exists already.
  absl::Status Share(const std::string& name, const StoredVariable& theirs);
  // Fills every variable by its initializer. Element i is a function of (seed, name, i) only. State
  // variables become 0.
  absl::Status Initialize(uint64_t seed);
  // Sets all state variables to 0. Counts as a new version.
  void ClearState();

  // The memory of a program's variables, in order. A program that shares a variable between
  // replicas gets replica 0's copy if the store has several.
  absl::StatusOr<std::vector<void*>> Bind(const std::vector<Variable>& variables);

  const ReplicaRange& replicas() const { return replicas_; }
  // Sorted by name.
  const std::map<std::string, StoredVariable>& variables() const { return variables_; }
  const StoredVariable* Find(const std::string& name) const;
  // For writes from outside a program. Counts as a new version.
  StoredVariable* FindMutable(const std::string& name);
  // Changes with every write from outside. Not with writes to shared variables through another
  // store: the store that shares them must call ClearState after such a write.
  int64_t version() const { return version_; }

  // The copies of every variable, in the form that the reference interpreter uses.
  std::map<std::string, std::vector<Literal>> ToLiterals() const;

 private:
  ReplicaRange replicas_;
  int64_t version_ = 1;
  std::map<std::string, StoredVariable> variables_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_VARIABLE_STORE_H_
