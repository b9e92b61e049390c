#include "runtime/device/loaded_program.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/ir/literal.h"

namespace tpurun {
namespace {

constexpr int64_t kHugePage = 2 << 20;
// Number of elements of an update that are checked at a time. 64 KiB stay in the second-level cache
// beside the slots and the gradient of the same size. A kernel that starts more often broadcasts
// its scalars more often.
constexpr int64_t kCheckedElements = 16384;

// True for a variable that may have no NaN or infinity in a step or a checkpoint. A state variable
// may: the NaN can disappear together with the row that it comes from.
bool IsChecked(const Variable& variable) {
  return variable.shape.dtype == DType::kF32 && variable.scope == Variable::Scope::kModel;
}

// An arena of so many bytes: `other`, if it is not nullptr and is large enough.
std::shared_ptr<Arena> MakeArena(int64_t bytes, const std::shared_ptr<Arena>& other) {
  if (other != nullptr && other->bytes() >= bytes) return other;
  return std::make_shared<Arena>(bytes);
}

}  // namespace

Arena::Arena(int64_t bytes)
    : data_(static_cast<std::byte*>(
          ::operator new(Aligned(std::max<int64_t>(bytes, 1)), std::align_val_t(4096)))),
      bytes_(Aligned(std::max<int64_t>(bytes, 1))) {
  if (bytes_ >= kHugePage) madvise(data_, bytes_, MADV_HUGEPAGE);
  std::memset(data_, 0, bytes_);
}

Arena::~Arena() { ::operator delete(data_, std::align_val_t(4096)); }

LoadedProgram::LoadedProgram(const CoreProgram& program, const std::vector<void*>& variables,
                             const CoreProgram* alone, const LoadedProgram* in_turn,
                             int num_workers, bool spin)
    : program_(program),
      alone_(alone == nullptr ? std::nullopt : std::optional(*alone)),
      variables_(variables),
      infeed_(LayoutOf(program.infeed, program.num_replicas)),
      outfeed_(LayoutOf(program.outfeed, program.outfeed_replicas())),
      num_workers_(num_workers),
      interleaving_(program.interleaving()),
      core_stride_(Aligned(program.core_bytes)),
      shared_(MakeArena(program.shared_bytes, in_turn == nullptr ? nullptr : in_turn->shared_)),
      cores_(MakeArena(core_stride_ * program.num_replicas,
                       in_turn == nullptr ? nullptr : in_turn->cores_)),
      loop_index_(std::make_unique<int32_t>(0)) {
  for (int replicas_per_call = 2; replicas_per_call <= interleaving_.replicas_per_call;
       replicas_per_call *= 2) {
    std::vector<std::unique_ptr<Barrier>>& of_parts = rendezvous_.emplace_back();
    for (int part = 0; part < interleaving_.parts; part += replicas_per_call)
      of_parts.push_back(
          std::make_unique<Barrier>(replicas_per_call / InterleavedParts(replicas_per_call), spin));
  }
  most_interleaved_ = InterleavedParts(interleaving_.replicas_per_call);
  worker_stride_ = Aligned(program.worker_bytes);
  if (alone != nullptr) {
    most_interleaved_ = std::max(most_interleaved_, alone->interleaving().replicas_per_call);
    worker_stride_ = std::max(worker_stride_, Aligned(alone->worker_bytes));
  }
  for (int worker = 0; worker < num_workers; ++worker)
    workers_.push_back(MakeArena(most_interleaved_ * worker_stride_,
                                 in_turn == nullptr ? nullptr : in_turn->workers_[worker]));
  for (int replica = 0; replica < program.num_replicas; ++replica)
    replica_ids_.push_back(program.first_replica + replica);
}

bool LoadedInstruction::IsFinite(const CheckedResult& result, const KernelArgs& args) const {
  // A call that spans several replicas covers the whole value of each replica.
  const int replicas = pointers_per_value;
  const int64_t first = replicas > 1 ? 0 : args.begin;
  const int64_t last = replicas > 1 ? end / replicas : args.end;
  bool finite = true;
  for (int replica = 0; replica < replicas; ++replica) {
    const auto* from = static_cast<const float*>(args.results[result.result * replicas + replica]);
    for (int64_t line = 0; line < result.lines; ++line, from += result.line_elements)
      finite &= AllFinite(from + first * result.per_unit, (last - first) * result.per_unit);
  }
  return finite;
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Load(
    const CoreProgram& program, const std::vector<void*>& variables, const CoreProgram* alone,
    const LoadedProgram* in_turn, int num_workers, bool spin) {
  if (variables.size() != program.variables.size()) {
    return absl::InternalError(absl::StrCat("the program has ", program.variables.size(),
                                            " variables, ", variables.size(), " were bound"));
  }
  std::unique_ptr<LoadedProgram> loaded(
      new LoadedProgram(program, variables, alone, in_turn, num_workers, spin));
  int number = 0;
  const auto load = [&](const std::vector<Phase>& phases) {
    return loaded->LoadPhases(phases, loaded->interleaving_, num_workers, number);
  };
  ASSIGN_OR_RETURN(loaded->prologue, load(loaded->program_.prologue));
  int number_alone = number;
  ASSIGN_OR_RETURN(loaded->step, load(loaded->program_.step));
  for (const PeriodicSection& range : loaded->program_.periodic) {
    LoadedPeriodicSection& periodic = loaded->periodic.emplace_back();
    periodic.period = range.period;
    ASSIGN_OR_RETURN(periodic.before, load(range.before));
    ASSIGN_OR_RETURN(periodic.after, load(range.after));
  }
  if (loaded->alone_.has_value()) {
    ASSIGN_OR_RETURN(
        loaded->step_alone,
        loaded->LoadPhases(loaded->alone_->step, loaded->alone_->interleaving(), 1, number_alone));
  }
  if (program.loss.space != Space::kNone)
    loaded->loss_ = loaded->Resolve({program.loss, Shape{DType::kF32, {}}});
  return loaded;
}

const LoadedInstruction& LoadedProgram::Find(int number) const {
  const auto find = [&](const std::vector<LoadedPhase>& phases) -> const LoadedInstruction* {
    for (const LoadedPhase& phase : phases) {
      for (const auto* instructions : {&phase.instructions, &phase.exchanges}) {
        for (const LoadedInstruction& instruction : *instructions)
          if (instruction.number == number) return &instruction;
      }
    }
    return nullptr;
  };
  const LoadedInstruction* found = find(prologue);
  if (found == nullptr) found = find(step);
  for (const LoadedPeriodicSection& section : periodic) {
    if (found == nullptr) found = find(section.before);
    if (found == nullptr) found = find(section.after);
  }
  TPURUN_DCHECK(found != nullptr);
  return *found;
}

Address LoadedProgram::Resolve(const Operand& operand, int64_t place_mask) const {
  const BufferRef& buffer = operand.buffer;
  TPURUN_DCHECK(buffer.core < program_.num_replicas);
  TPURUN_DCHECK(buffer.space != Space::kInfeed ||
                static_cast<size_t>(buffer.offset) < infeed_.offsets.size());
  TPURUN_DCHECK(buffer.space != Space::kOutfeed ||
                static_cast<size_t>(buffer.offset) < outfeed_.offsets.size());
  TPURUN_DCHECK(buffer.space != Space::kVariable ||
                static_cast<size_t>(buffer.offset) < variables_.size());
  const auto address = [](const void* pointer) { return reinterpret_cast<intptr_t>(pointer); };
  const auto on_core = [&](Base base, int64_t offset, int64_t stride) {
    if (buffer.core < 0) return Address{base, offset, stride};
    return Address{base, offset + buffer.core * stride, 0};
  };
  switch (buffer.space) {
    case Space::kShared:
      return {Base::kShared, buffer.offset};
    case Space::kCore:
      return on_core(Base::kCore, buffer.offset, core_stride_);
    case Space::kWorker:
      return {Base::kWorker, buffer.offset, buffer.part_stride, place_mask};
    case Space::kInfeed:
      return on_core(Base::kInfeed, infeed_.offsets[buffer.offset],
                     infeed_.replica_bytes[buffer.offset]);
    case Space::kOutfeed:
      return on_core(Base::kOutfeed,
                     outfeed_.offsets[buffer.offset] +
                         program_.first_replica * outfeed_.replica_bytes[buffer.offset],
                     outfeed_.replica_bytes[buffer.offset]);
    case Space::kVariable: {
      const Variable& variable = program_.variables[buffer.offset];
      const int64_t stride = variable.per_core ? Aligned(variable.shape.bytes()) : 0;
      return on_core(Base::kAbsolute, address(variables_[buffer.offset]), stride);
    }
    case Space::kLoopIndex:
      return {Base::kAbsolute, address(loop_index_.get())};
    case Space::kReplicaId:
      return on_core(Base::kAbsolute, address(replica_ids_.data()), sizeof(int32_t));
    case Space::kNone:
      break;
  }
  return {Base::kAbsolute, 0};
}

void LoadedProgram::AddChecks(const OpCall& call, LoadedInstruction& loaded) const {
  const Instruction& instruction = *loaded.instruction;
  const OpFlags flags = OpFlagsOf(call);
  for (size_t i = 0; i < instruction.results.size(); ++i) {
    const auto& [buffer, shape] = instruction.results[i];
    if (buffer.space != Space::kVariable || !IsChecked(program_.variables[buffer.offset])) continue;
    const int64_t elements = shape.num_elements(), units = Units(call);
    if (elements == 0) continue;
    if (flags.overwrites && instruction.operands[0].buffer == buffer) {
      loaded.kernel_checks = true;
      continue;
    }
    const bool by_columns = flags.unit == WorkUnit::kColumns;
    loaded.checked.push_back({.result = static_cast<int>(i),
                              .per_unit = by_columns ? 1 : elements / units,
                              .lines = by_columns ? elements / units : 1,
                              .line_elements = by_columns ? units : elements});
  }
  loaded.is_update = loaded.kernel_checks || !loaded.checked.empty();
  // Other kernels may support parts of one size only.
  loaded.checked_units = flags.elementwise ? kCheckedElements : loaded.end;
}

std::optional<NotFinite> LoadedProgram::FindNotFinite() const {
  for (size_t i = 0; i < program_.variables.size(); ++i) {
    const Variable& variable = program_.variables[i];
    if (!IsChecked(variable)) continue;
    const int copies = variable.per_core ? program_.num_replicas : 1;
    const int64_t stride = Aligned(variable.shape.bytes());
    for (int copy = 0; copy < copies; ++copy) {
      const std::byte* const data = static_cast<const std::byte*>(variables_[i]) + copy * stride;
      const int64_t element = FirstNonFinite(variable.shape, data);
      if (element < 0) continue;
      return NotFinite{static_cast<int>(i), variable.per_core ? copy : -1, element};
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<LoadedPhase>> LoadedProgram::LoadPhases(const std::vector<Phase>& phases,
                                                                   const Interleaving& interleaving,
                                                                   int num_workers, int& number) {
  std::vector<LoadedPhase> loaded_phases;
  for (const Phase& phase : phases) {
    const int replicas_per_call = phase.replicas_per_call();
    LoadedPhase loaded_phase{
        .parts = std::max(1, phase.parts()),
        .replicas_per_call = replicas_per_call,
        .interleaved = tpurun::InterleavedParts(replicas_per_call, interleaving, num_workers),
        .joined = phase.joined()};
    const int64_t place_mask = replicas_per_call - 1;
    if (loaded_phase.joined && loaded_phase.interleaved != replicas_per_call) {
      return absl::InternalError(absl::StrCat("replicas are joined for other workers than ",
                                              num_workers, ": ", replicas_per_call, " in a call"));
    }
    for (const Instruction& instruction : phase.instructions) {
      const OpCall call = CallOfInstruction(instruction, program_.num_replicas);
      const bool exchanges = instruction.op->flags.exchange != Exchange::kNone;
      kernels_.push_back(exchanges ? nullptr : MakeKernel(call, instruction.plan));
      if (kernels_.back() == nullptr && !exchanges) {
        return absl::InternalError(absl::StrCat(instruction.op->name, " \"", instruction.name,
                                                "\": no kernel \"", instruction.plan.name(), "\""));
      }
      if (!exchanges) kernels_.back()->SetWorkers(static_cast<int>(workers_.size()));
      LoadedInstruction loaded{.kernel = kernels_.back().get(),
                               .instruction = &instruction,
                               .number = number++,
                               .per_core = instruction.per_core,
                               .replicas_per_call = instruction.replicas_per_call,
                               .pointers_per_value = call.replicas_per_call,
                               .first_part = instruction.first_part,
                               .part_step = instruction.part_step,
                               .parts = instruction.parts,
                               .end_part = instruction.end_part()};
      for (const Operand& operand : instruction.operands)
        loaded.addresses.push_back(Resolve(operand, place_mask));
      for (const Operand& result : instruction.results)
        loaded.addresses.push_back(Resolve(result, place_mask));
      loaded.num_operands = static_cast<int>(instruction.operands.size());
      if (instruction.plan.scratch_bytes > 0)
        loaded.scratch = Resolve({instruction.scratch, Shape{}});
      loaded.end = Units(call) * call.replicas_per_call;
      AddChecks(call, loaded);
      if (instruction.per_core) {
        loaded.shares = {{.begin = 0, .end = loaded.end}};
      } else {
        for (int part = 0; part < instruction.parts; ++part) {
          loaded.shares.push_back(
              {.begin = BeginOfPart(call, part), .end = BeginOfPart(call, part + 1)});
          // The parts cover all units exactly once.
          TPURUN_DCHECK(loaded.shares[part].begin <= loaded.shares[part].end);
        }
      }
      max_addresses_ = std::max(max_addresses_, loaded.addresses.size() * call.replicas_per_call);
      (exchanges ? loaded_phase.exchanges : loaded_phase.instructions).push_back(std::move(loaded));
    }
    loaded_phases.push_back(std::move(loaded_phase));
  }
  return loaded_phases;
}

}  // namespace tpurun
