// VariableStore: the variables of a Session, keyed by name, in the memory that programs bind to.
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

// One variable. A per-core one has a copy a replica, else there is one for all; each copy starts at
// a multiple of 64 bytes. Copies of a StoredVariable share its values.
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
  explicit VariableStore(int num_replicas) : num_replicas_(num_replicas) {}

  // Adds the variables that are not there yet, zero. One that is there with another shape is an
  // error.
  absl::Status Add(const std::vector<Variable>& variables);
  // Adds a variable that has the values of one of another store, as they are now and will be.
  // Internal when one of that name is there already.
  absl::Status Share(const std::string& name, const StoredVariable& theirs);
  // Fills every variable by its initializer. Element i is a function of (seed, name, i) alone; a
  // state variable becomes zero.
  absl::Status Initialize(uint64_t seed);
  // Makes all state variables zero. Counts as a new version.
  void ClearState();

  // The memory of a program's variables, in order. A program that shares a variable of which the
  // store has copies gets replica 0's.
  absl::StatusOr<std::vector<void*>> Bind(const std::vector<Variable>& variables);

  int num_replicas() const { return num_replicas_; }
  // Sorted by name.
  const std::map<std::string, StoredVariable>& variables() const { return variables_; }
  const StoredVariable* Find(const std::string& name) const;
  // For writing from outside a program: counts as a new version.
  StoredVariable* FindMutable(const std::string& name);
  // Changes with every write from outside; who shares variables calls ClearState behind such.
  int64_t version() const { return version_; }

  // The copies of every variable, as the reference interpreter takes them.
  std::map<std::string, std::vector<Literal>> ToLiterals() const;

 private:
  int num_replicas_;
  int64_t version_ = 1;
  std::map<std::string, StoredVariable> variables_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_VARIABLE_STORE_H_
