#include "runtime/checkpoint/variable_store.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/initial_values.h"

namespace tpurun {
namespace {

absl::Status OtherShape(const StoredVariable& stored, const Variable& variable) {
  return absl::InternalError(absl::StrCat("variable \"", variable.name, "\" of two programs: got ",
                                          variable.shape.ToString(), ", want ",
                                          stored.variable().shape.ToString()));
}

}  // namespace

StoredVariable::StoredVariable(Variable variable, int copies)
    : variable_(std::move(variable)),
      copies_(copies),
      stride_(Aligned(std::max<int64_t>(variable_.shape.bytes(), 1))),
      data_(static_cast<std::byte*>(::operator new(stride_* copies, std::align_val_t(kAlignment))),
            [](std::byte* data) { ::operator delete(data, std::align_val_t(kAlignment)); }) {
  std::memset(data_.get(), 0, stride_ * copies);
}

absl::Status VariableStore::Add(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    const auto found = variables_.find(variable.name);
    if (found == variables_.end()) {
      variables_.emplace(variable.name,
                         StoredVariable(variable, variable.per_core ? replicas_.count : 1));
    } else if (!(found->second.variable().shape == variable.shape)) {
      return OtherShape(found->second, variable);
    }
  }
  return absl::OkStatus();
}

absl::Status VariableStore::Share(const std::string& name, const StoredVariable& theirs) {
  if (variables_.emplace(name, theirs).second) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("variable \"", name, "\" is stored already"));
}

absl::Status VariableStore::Initialize(uint64_t seed) {
  ClearState();
  for (auto& [name, stored] : variables_) {
    if (stored.variable().scope == Variable::Scope::kState) continue;
    std::byte* const first = stored.copy(0);
    RETURN_IF_ERROR(DrawInitialValues(stored.variable(), seed, first));
    for (int copy = 1; copy < stored.copies(); ++copy) {
      std::memcpy(stored.copy(copy), first, stored.copy_bytes());
    }
  }
  return absl::OkStatus();
}

void VariableStore::ClearState() {
  ++version_;
  for (auto& [name, stored] : variables_) {
    if (stored.variable().scope != Variable::Scope::kState) continue;
    for (int copy = 0; copy < stored.copies(); ++copy)
      std::memset(stored.copy(copy), 0, stored.copy_bytes());
  }
}

absl::StatusOr<std::vector<void*>> VariableStore::Bind(const std::vector<Variable>& variables) {
  std::vector<void*> memory;
  for (const Variable& variable : variables) {
    const auto found = variables_.find(variable.name);
    if (found == variables_.end()) {
      return absl::InternalError(absl::StrCat("variable \"", variable.name, "\" is not stored"));
    }
    StoredVariable& stored = found->second;
    if (!(stored.variable().shape == variable.shape)) return OtherShape(stored, variable);
    if (variable.per_core && stored.copies() < replicas_.count) {
      return absl::InternalError(absl::StrCat("variable \"", variable.name,
                                              "\": got a program with a copy a core, want one"));
    }
    memory.push_back(stored.copy(0));
  }
  return memory;
}

const StoredVariable* VariableStore::Find(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

StoredVariable* VariableStore::FindMutable(const std::string& name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return nullptr;
  ++version_;
  return &found->second;
}

std::map<std::string, std::vector<Literal>> VariableStore::ToLiterals() const {
  std::map<std::string, std::vector<Literal>> literals;
  for (const auto& [name, stored] : variables_) {
    for (int copy = 0; copy < stored.copies(); ++copy) {
      Literal literal(stored.variable().shape);
      std::memcpy(literal.data(), stored.copy(copy), stored.copy_bytes());
      literals[name].push_back(std::move(literal));
    }
  }
  return literals;
}

}  // namespace tpurun
