#include "runtime/program/join_replicas.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/program/combine_parts.h"
#include "runtime/program/larger_calls.h"

namespace tpurun {
namespace {

// Worker memory of all joined cores, by the largest phase: half of an L2 cache of 512 KB.
constexpr int64_t kMostBytes = 256 << 10;

bool Overlap(const BufferRef& buffer, int64_t bytes, const BufferRef& other, int64_t other_bytes) {
  return buffer.offset < other.offset + other_bytes && other.offset < buffer.offset + bytes;
}

// Of one phase of per-core instructions, for calls of `joined` replicas.
class PhaseJoiner {
 public:
  PhaseJoiner(const CoreProgram& program, const Machine& machine, int joined)
      : program_(program), machine_(machine), joined_(joined) {}

  // False if the values of several cores cannot lie in one memory. Offsets are multiplied by
  // `joined` then: a value is read as it was written, and no result lies across an operand.
  bool KeepsValuesApart(const Phase& phase) const {
    std::map<int64_t, int64_t> written;  // [offset]: bytes
    for (const Instruction& instruction : phase.instructions) {
      for (const auto& [buffer, shape] : instruction.operands) {
        if (buffer.space != Space::kWorker) continue;
        const auto value = written.find(buffer.offset);
        if (value == written.end() || value->second != shape.bytes()) return false;
      }
      for (const auto& [buffer, shape] : instruction.results) {
        if (buffer.space != Space::kWorker) continue;
        for (const auto& [read, of] : instruction.operands) {
          const bool same = read.offset == buffer.offset && of.bytes() == shape.bytes();
          if (read.space == Space::kWorker && !same &&
              Overlap(buffer, shape.bytes(), read, of.bytes()))
            return false;
        }
        written[buffer.offset] = shape.bytes();
      }
    }
    return true;
  }

  // Does nothing if no instruction can be one call.
  void Join(Phase& phase) const {
    Phase joined = phase;
    for (Instruction& instruction : joined.instructions) {
      for (auto* list : {&instruction.operands, &instruction.results}) {
        for (auto& [buffer, shape] : *list) {
          if (buffer.space != Space::kWorker) continue;
          buffer.offset *= joined_;
          buffer.part_stride = Aligned(shape.bytes());
        }
      }
      if (instruction.scratch.space == Space::kWorker) instruction.scratch.offset *= joined_;
      JoinRows(instruction);
    }
    if (joined.joined()) phase = std::move(joined);
  }

 private:
  // Makes one call of `joined` calls of the instruction, if its op, kernel and operands allow it.
  void JoinRows(Instruction& instruction) const {
    const KernelDef* const kernel = instruction.plan.kernel;
    OpCall call = CallOfInstruction(instruction, program_.num_replicas);
    const OpFlags flags = OpFlagsOf(call);
    const bool by_rows = flags.unit == WorkUnit::kRows || flags.unit == WorkUnit::kElements;
    if (!by_rows || flags.random || flags.collective || kernel == nullptr || kernel->is_library ||
        instruction.plan.converts_bf16 || call.results[0].rank() == 0)
      return;
    const int64_t rows = call.results[0].dims[0];
    std::vector<Shape> operands = call.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (program_.IsShared(instruction.operands[i].buffer)) continue;
      if (!HasRows(instruction.operands[i], rows) || !ReadsOwnRows(call, static_cast<int>(i), rows))
        return;
      operands[i].dims[0] *= joined_;
    }
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      if (!HasRows(instruction.results[i], rows)) return;
      call.results[i].dims[0] *= joined_;
    }
    call.operands = std::move(operands);
    const auto shapes = InferShapes(*call.op, call.operands, call.attrs);
    if (!shapes.ok() || *shapes != call.results) return;
    const std::optional<KernelOffer> offer = OfferOf(*kernel, call, instruction.plan);
    if (!offer.has_value() || offer->scratch_bytes > joined_ * instruction.plan.scratch_bytes ||
        offer->native_bf16 != instruction.plan.native_bf16)
      return;
    static_cast<KernelOffer&>(instruction.plan) = *offer;
    for (size_t i = 0; i < call.operands.size(); ++i)
      instruction.operands[i].shape = call.operands[i];
    for (size_t i = 0; i < call.results.size(); ++i) instruction.results[i].shape = call.results[i];
    instruction.replicas_per_call = joined_;
    instruction.joins_rows = true;
  }

  // nullopt also if the kernel wants other operands for so many rows than for those of one core.
  std::optional<KernelOffer> OfferOf(const KernelDef& kernel, const OpCall& call,
                                     const KernelOffer& of_one) const {
    if (kernel.offer == nullptr) return KernelOffer{};
    std::optional<KernelOffer> offer = kernel.offer(call, machine_);
    if (!offer.has_value()) return offer;
    for (size_t i = 0; i < offer->best_operands.size(); ++i) {
      const Shape& best = offer->best_operands[i];
      const bool was_best = !of_one.best_operands.empty() && of_one.best_operands[i] == best;
      if (best != call.operands[i] && !was_best) return std::nullopt;
    }
    return offer;
  }

  // The rows of one core follow those of the core before, without a gap.
  bool HasRows(const Operand& operand, int64_t rows) const {
    const auto& [buffer, shape] = operand;
    if (buffer.space == Space::kNone) return shape.rank() > 0 && shape.dims[0] == rows;
    if (shape.rank() == 0 || shape.dims[0] != rows || !shape.layout.plain()) return false;
    if (buffer.space == Space::kWorker) return Aligned(shape.bytes()) == shape.bytes();
    return buffer.space == Space::kInfeed && buffer.core < 0 &&
           program_.infeed[buffer.offset].shape.bytes() == shape.bytes();
  }

  const CoreProgram& program_;
  const Machine& machine_;
  const int joined_;
};

// The replicas of one call: as many as a worker runs, or half of them; 1 if there is nothing to
// join.
int Joined(const Phase& phase, int num_workers, const CoreProgram& program) {
  if (phase.instructions.empty() || phase.replicas_per_call() > 1) return 1;
  Cost cost;
  for (const Instruction& instruction : phase.instructions) {
    if (!instruction.per_core || instruction.op->flags.exchange != Exchange::kNone) return 1;
    cost += CostOfInstruction(instruction, program.num_replicas);
  }
  const int calls = PartsWanted(cost, num_workers);
  if (program.num_replicas % calls != 0) return 1;
  const int joined = program.num_replicas / calls;
  if (!std::has_single_bit(static_cast<unsigned>(joined))) return 1;
  return joined * Aligned(program.worker_bytes) <= kMostBytes ? joined : 1;
}

}  // namespace

void JoinReplicas(int num_workers, CoreProgram& program) {
  const Machine machine = MachineOf(program);
  for (Phase* phase : program.Phases()) {
    const int joined = Joined(*phase, num_workers, program);
    if (joined == 1) continue;
    const PhaseJoiner joiner(program, machine, joined);
    if (joiner.KeepsValuesApart(*phase)) joiner.Join(*phase);
  }
}

}  // namespace tpurun
