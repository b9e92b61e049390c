// LoadedProgram: a CoreProgram with kernels made, arenas allocated and every operand resolved to
// (base, offset, stride from core to core).
#ifndef TPURUN_RUNTIME_DEVICE_LOADED_PROGRAM_H_
#define TPURUN_RUNTIME_DEVICE_LOADED_PROGRAM_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/dcheck.h"
#include "runtime/device/barrier.h"
#include "runtime/device/step_sharing.h"
#include "runtime/ir/op_def.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// The start of an address. The base of kAbsolute is nullptr: the offset is then the address.
enum class Base : uint8_t { kAbsolute, kShared, kCore, kWorker, kInfeed, kOutfeed, kCount };
using Bases = std::array<std::byte*, static_cast<size_t>(Base::kCount)>;

// Those of one part, in a cache line of their own: different workers write those of neighbours.
struct alignas(64) PartBases {
  Bases of;
};

struct Address {
  Base base = Base::kAbsolute;
  int64_t offset = 0;
  int64_t core_stride = 0;
  int64_t core_mask = -1;  // the bits of the core that count: its place among those of a worker

  void* On(const Bases& bases, int core) const {
    const std::byte* start = bases[static_cast<size_t>(base)];
    return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(start) + offset +
                                   (core & core_mask) * core_stride);
  }
};

// A result that the device checks for NaN and infinity: a variable of floats, or a share of one.
// Unit u of the call's work is elements [u * per_unit, (u + 1) * per_unit) of each of its lines.
struct CheckedResult {
  int result = 0;
  int64_t per_unit = 1;
  int64_t lines = 1;
  int64_t line_elements = 0;
};

struct LoadedInstruction {
  const Kernel* kernel = nullptr;
  const Instruction* instruction = nullptr;
  int number = 0;                  // its index in CoreProgram::Instructions()
  std::vector<Address> addresses;  // of the operands, then of the results
  int num_operands = 0;
  Address scratch;
  bool per_core = false;
  int replicas_per_call = 1;
  int pointers_per_value = 1;  // replicas_per_call, or 1 if it joins rows
  int first_part = 0, part_step = 1, parts = 1, end_part = 1;  // its parts in the phase
  // The units of part p of a shared instruction, or of every part of a per-core one.
  struct Share {
    int64_t begin = 0, end = 0;
  };
  std::vector<Share> shares;
  int64_t end = 1;  // of all units
  // The results to check after every `checked_units` written units.
  std::vector<CheckedResult> checked;
  int64_t checked_units = 0;
  // The kernel overwrites a variable and checks it itself (KernelArgs::not_finite).
  bool kernel_checks = false;
  bool is_update = false;  // kernel_checks, or `checked` is not empty

  // The first part of the phase, from `begin` on, that is one of its parts, or end_part or more.
  int FirstPartFrom(int begin) const {
    const int steps = begin > first_part ? (begin - first_part + part_step - 1) / part_step : 0;
    return first_part + steps * part_step;
  }
  // The arguments of a call whose first part is `part`. `bases`: [part]. `pointers`: memory for
  // those of the operands and results.
  KernelArgs ArgsOf(std::span<const PartBases, kMaxParts> bases, int worker, int part,
                    std::span<void*> pointers) const {
    const int own = (part - first_part) / part_step;
    TPURUN_DCHECK(own >= 0 && own + replicas_per_call <= parts);
    TPURUN_DCHECK(addresses.size() * pointers_per_value <= pointers.size());
    void** next = pointers.data();
    for (const Address& address : addresses) {
      for (int replica = 0; replica < pointers_per_value; ++replica, ++next)
        *next = address.On(bases[part + replica].of, per_core ? part + replica : 0);
    }
    const Share& share = shares[per_core ? 0 : own];
    return {.operands = pointers.data(),
            .results = pointers.data() + num_operands * pointers_per_value,
            .scratch = scratch.On(bases[part].of, per_core ? part : 0),
            .worker = worker,
            .begin = share.begin,
            .end = share.end};
  }
  // Whether the units of a result that a call with these arguments has written are finite.
  bool IsFinite(const CheckedResult& result, const KernelArgs& args) const;
};

// The position of a NaN or an infinity in a variable.
struct NotFinite {
  int variable = 0;  // index in CoreProgram::variables
  int core = -1;     // the core that has this copy; -1: all cores share one copy
  int64_t element = 0;
};

struct LoadedPhase {
  std::vector<LoadedInstruction> instructions;
  std::vector<LoadedInstruction> exchanges;  // those among processes, in order
  int parts = 1;
  int replicas_per_call = 1;  // the maximum over the instructions
  int interleaved = 1;        // parts of a worker: InterleavedParts(replicas_per_call)
  bool joined = false;        // the parts of a worker have one memory
};

struct LoadedPeriodicSection {
  int64_t period = 1;
  std::vector<LoadedPhase> before, after;
};

// Zeroed, 64-byte aligned memory. All pages are touched once; huge pages are requested.
class Arena {
 public:
  explicit Arena(int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_;
  int64_t bytes_;
};

class LoadedProgram {
 public:
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(const CoreProgram& program,
                                                             const std::vector<void*>& variables,
                                                             const CoreProgram* alone,
                                                             const LoadedProgram* in_turn,
                                                             int num_workers, bool spin);

  const CoreProgram& program() const { return program_; }
  std::byte* shared() { return shared_->data(); }
  std::byte* cores() { return cores_->data(); }
  // The arena of `worker` for the part with index `place` among its interleaved parts.
  std::byte* worker(int worker, int place) {
    // The program is loaded for all workers that run it.
    TPURUN_DCHECK(worker < static_cast<int>(workers_.size()) && place < most_interleaved_);
    return workers_[worker]->data() + place * worker_stride_;
  }
  int InterleavedParts(int replicas_per_call) const {
    return tpurun::InterleavedParts(replicas_per_call, interleaving_, num_workers_);
  }
  // The rendezvous of the workers that run the parts of one call together with part `part`. There
  // must be several such workers.
  Barrier& Rendezvous(int replicas_per_call, int part) {
    return *rendezvous_[std::bit_width(static_cast<unsigned>(replicas_per_call)) - 2]
                       [part / replicas_per_call];
  }
  void set_loop_index(int32_t index) { *loop_index_ = index; }
  // The instruction with this index in CoreProgram::Instructions().
  const LoadedInstruction& Find(int number) const;
  // The maximum number of addresses of operands and results that a call gets, over all replicas.
  size_t max_addresses() const { return max_addresses_; }
  // The loss of `replica` in the step that has just run.
  float Loss(int replica, const Bases& bases) const {
    TPURUN_DCHECK(program_.loss.space != Space::kNone && replica < program_.num_replicas);
    return *static_cast<const float*>(loss_.On(bases, replica));
  }

  // The first variable, in the program's order, that is checked and is not finite now.
  std::optional<NotFinite> FindNotFinite() const;

  std::vector<LoadedPhase> prologue, step;
  std::vector<LoadedPhase> step_alone;  // the step for one worker; empty if there is none
  std::vector<LoadedPeriodicSection> periodic;
  int64_t prologue_version = -1;  // the variables_version of the last prologue run
  StepSharing sharing;

 private:
  LoadedProgram(const CoreProgram& program, const std::vector<void*>& variables,
                const CoreProgram* alone, const LoadedProgram* in_turn, int num_workers, bool spin);
  // The phases of a program for so many workers. `number`: of the next instruction.
  absl::StatusOr<std::vector<LoadedPhase>> LoadPhases(const std::vector<Phase>& phases,
                                                      const Interleaving& interleaving,
                                                      int num_workers, int& number);
  // `place_mask`: of the index of a part among those that a worker of the phase interleaves.
  Address Resolve(const Operand& operand, int64_t place_mask = 0) const;
  void AddChecks(const OpCall& call, LoadedInstruction& loaded) const;

  CoreProgram program_;
  std::optional<CoreProgram> alone_;
  std::vector<void*> variables_;
  SlotLayout infeed_, outfeed_;
  const int num_workers_;
  const Interleaving interleaving_;
  int most_interleaved_ = 1;   // parts of a worker, that are in its memory at a time
  int64_t worker_stride_ = 0;  // from one of them to the next
  // [log2(replicas_per_call) - 1][part / replicas_per_call]
  std::vector<std::vector<std::unique_ptr<Barrier>>> rendezvous_;
  int64_t core_stride_;
  // Programs that run in turn have the same ones, where they are large enough.
  std::shared_ptr<Arena> shared_, cores_;
  std::vector<std::shared_ptr<Arena>> workers_;
  std::unique_ptr<int32_t> loop_index_;
  std::vector<int32_t> replica_ids_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // of all instructions; nullptr for an exchange
  Address loss_;
  size_t max_addresses_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_LOADED_PROGRAM_H_
