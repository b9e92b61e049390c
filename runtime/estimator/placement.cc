#include "runtime/estimator/placement.h"

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

class Placement {
 public:
  explicit Placement(const CoreProgram& program) : on_host_(program.num_replicas == 1) {
    for (const Variable& variable : program.variables) {
      AddOnDevice(variable.name, "variable", variable.per_core);
    }
    for (const InfeedSlot& slot : program.infeed) Add(slot.name, "infeed", "host");
    AddPhases(program.prologue);
    for (const PeriodicSection& range : program.periodic) AddPhases(range.before);
    AddPhases(program.step);
    for (const PeriodicSection& range : program.periodic) AddPhases(range.after);
    for (const OutfeedSlot& slot : program.outfeed) Add(slot.name, "outfeed", "host");
  }

  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  void AddPhases(const std::vector<Phase>& phases) {
    for (const Phase& phase : phases) {
      for (const Instruction& instruction : phase.instructions) {
        AddOnDevice(instruction.name, instruction.op->name, instruction.per_core);
      }
    }
  }

  void AddOnDevice(const std::string& name, const std::string& op, bool per_core) {
    Add(name, op, on_host_ ? "host" : per_core ? "core" : "shared");
  }

  void Add(const std::string& name, const std::string& op, const char* where) {
    lines_.push_back(absl::StrCat(name.empty() ? op : name, ": (", op, "): ", where));
  }

  const bool on_host_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> PlacementOf(const CoreProgram& program) {
  return Placement(program).lines();
}

}  // namespace tpurun
