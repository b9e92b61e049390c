#include "runtime/device/device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/status.h"
#include "runtime/base/threads.h"
#include "runtime/device/barrier.h"
#include "runtime/device/exchanges.h"
#include "runtime/device/loaded_program.h"
#include "runtime/device/phase_schedule.h"
#include "runtime/device/shared_work.h"
#include "runtime/device/span_recorder.h"
#include "runtime/device/step_votes.h"
#include "runtime/device/worker_cpus.h"

namespace tpurun {

int64_t OutfeedEntryBytes(const CoreProgram& program) {
  return kOutfeedHeaderBytes + LayoutOf(program.outfeed, program.outfeed_replicas()).bytes;
}

namespace {

// The worker threads and their current run. A member that is not atomic is written by the thread
// that has ended a phase (or by Run before the workers start), and read by workers with a group of
// parts of a later phase. Run alone writes the program and the arguments.
class Workers final : public Device {
 public:
  explicit Workers(int num_workers)
      : cpus_(AllowedCpus()),
        num_workers_(num_workers > 0 ? num_workers : static_cast<int>(cpus_.size())),
        spin_(num_workers_ <= static_cast<int>(cpus_.size())),
        work_(num_workers_, spin_),
        pointers_(num_workers_),
        counts_(num_workers_) {
    // With fewer workers than CPUs, the system may move the workers away from CPUs that other
    // processes use.
    if (num_workers_ == static_cast<int>(cpus_.size())) own_cpus_.emplace(cpus_);
    std::latch bound(num_workers_);
    for (int worker = 0; worker < num_workers_; ++worker) {
      threads_.push_back(StartThread([this, worker, &bound] {
        if (own_cpus_) own_cpus_->Bind(worker);
        bound.count_down();
        ThreadMain(worker);
      }));
    }
    bound.wait();
  }

  ~Workers() override {
    run_.program = nullptr;
    StartRun();
    for (std::thread& thread : threads_) thread.join();
  }

  RunResult Run(LoadedProgram& program, const RunArgs& args) override {
    // Only one run at a time. A program with an infeed or an outfeed needs its queue.
    TPURUN_DCHECK(running_ == 0);
    TPURUN_DCHECK(program.program().infeed.empty() || args.infeed != nullptr);
    TPURUN_DCHECK(program.program().outfeed.empty() || args.outfeed != nullptr);
    run_ = RunState{.program = &program, .args = args, .index = args.first_index};
    run_.result.status = absl::OkStatus();
    run_.tries_alone =
        !program.step_alone.empty() && args.fabric == nullptr && args.profile == nullptr;
    run_.with_prologue =
        program.prologue_version != args.variables_version || program.prologue_version < 0;
    run_.bases[static_cast<size_t>(Base::kShared)] = program.shared();
    run_.bases[static_cast<size_t>(Base::kCore)] = program.cores();
    for (std::vector<void*>& pointers : pointers_) pointers.resize(program.max_addresses());
    schedule_.BeginRun(program, args.first_step, args.host_call_every_n_steps);
    if (run_.with_prologue) schedule_.BeginPrologue();
    not_finite_.store(false, std::memory_order_relaxed);
    steps_done_.store(0, std::memory_order_relaxed);
    auto next_beat = std::chrono::steady_clock::now() + args.heartbeat_period;
    const auto beat = [&] {
      if (args.heartbeat) args.heartbeat(steps_done_.load(std::memory_order_relaxed));
      next_beat += args.heartbeat_period;
    };
    // NextStep then takes the entry without waiting.
    while (args.infeed != nullptr && !args.infeed->WaitUntil(next_beat, args.interrupt)) beat();
    if (args.profile != nullptr) args.profile->Begin();
    NextStep(absl::OkStatus());
    if (args.profile != nullptr) args.profile->AddStepTick(run_.index, Ticks());
    if (!run_.stop) {
      if (const LoadedPhase* const beside = BeginPhase(0)) {
        RunExchanges(*beside);
        work_.Finish(1);  // not the last unit
      }
      if (run_.tries_alone) sharing().RunBegins(StepSharing::Clock::now());
      StartRun();
      std::unique_lock lock(mutex_);
      while (!idle_.wait_until(lock, next_beat, [&] { return running_ == 0; })) {
        lock.unlock();
        beat();
        lock.lock();
      }
      if (run_.tries_alone) sharing().RunEnds(StepSharing::Clock::now());
      if (args.profile != nullptr) args.profile->End();
      program.prologue_version = first_error_.ok() ? args.variables_version : -1;
    }
    if (run_.result.status.ok()) run_.result.status = first_error_;
    first_error_ = absl::OkStatus();
    return std::move(run_.result);
  }

  int num_workers() const override { return num_workers_; }

  absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(const CoreProgram& program,
                                                      const std::vector<void*>& variables,
                                                      const CoreProgram* alone,
                                                      const LoadedProgram* in_turn) override {
    const bool may_be_alone = spin_ && num_workers_ <= SharedWork::kMostWorkers;
    return LoadedProgram::Load(program, variables, may_be_alone ? alone : nullptr, in_turn,
                               num_workers_, spin_);
  }

  absl::StatusOr<double> TimeAlone(LoadedProgram& program, int instruction) override {
    // As many calls as a hot cache and a stable minimum need.
    constexpr int kLeastCalls = 5;
    constexpr double kSeconds = 0.005;
    TPURUN_DCHECK(running_ == 0);
    const LoadedInstruction& loaded = program.Find(instruction);
    const int replicas = loaded.replicas_per_call, first = loaded.first_part;
    for (int i = 0; i < replicas; ++i) {
      bases_[first + i].of = run_.bases;
      bases_[first + i].of[static_cast<size_t>(Base::kWorker)] =
          program.worker(0, std::min(i, program.InterleavedParts(replicas) - 1));
    }
    const ScopedFlushDenormals flush;
    const TickMark begin = TickMark::Now();
    int64_t best = std::numeric_limits<int64_t>::max();
    TickMark end = begin;
    for (int call = 0; call < kLeastCalls ||
                       std::chrono::duration<double>(end.time - begin.time).count() < kSeconds;
         ++call) {
      const int64_t start = Ticks();
      RETURN_IF_ERROR(RunInstruction(loaded, 0, first));
      best = std::min(best, Ticks() - start);
      end = TickMark::Now();
    }
    return static_cast<double>(best) * SecondsPerTick(begin, end);
  }

  std::vector<int64_t> InstructionsRun() const override {
    std::vector<int64_t> counts;
    for (const Count& count : counts_) counts.push_back(count.instructions.load());
    return counts;
  }

 private:
  struct RunState {
    LoadedProgram* program = nullptr;
    RunArgs args;
    bool with_prologue = false;
    int64_t index = 0;  // loop index of the current step
    bool stop = false;
    Bases bases = {};
    bool feeds_out = false;
    std::chrono::steady_clock::time_point phase_begin;  // of a periodic one
    bool tries_alone = false;                           // one worker, if that is faster
    RunResult result;
  };
  struct alignas(64) Count {
    std::atomic<int64_t> instructions{0};
  };

  StepSharing& sharing() { return run_.program->sharing; }

  void StartRun() {
    {
      std::lock_guard lock(mutex_);
      running_ = num_workers_;
    }
    start_.fetch_add(1);
    FutexWakeAll(start_);
  }

  void ThreadMain(int worker) {
    const ScopedFlushDenormals flush;
    for (uint32_t seen = 0;; ++seen) {
      while (start_.load() == seen) FutexWait(start_, seen);
      if (run_.program == nullptr) return;
      if (run_.args.profile != nullptr) {
        WorkerRun<true>(worker);
      } else {
        WorkerRun<false>(worker);
      }
      std::lock_guard lock(mutex_);
      if (--running_ == 0) idle_.notify_all();
    }
  }

  // Functions with the parameter kProfiles or Recorder are compiled twice: the one that records
  // what it does in run_.args.profile, and the one that does not.

  // One worker's share of a run.
  template <bool kProfiles>
  void WorkerRun(int worker) {
    SharedWork::Phase phase;
    while (true) {
      phase = NextPhase(worker, phase.number);
      Return(worker, phase);
      if constexpr (kProfiles) run_.args.profile->EndWait(worker, phase.number);
      if (phase.units == 0) return;
      const int groups = RunGroups<kProfiles>(worker, phase);
      SetComputes(worker, false);
      // On whatever CPU it is: others wait.
      const bool last = groups > 0 && work_.Finish(groups);
      const LoadedPhase* beside = last ? EndPhase(worker) : nullptr;
      Return(worker, phase);
      while (beside != nullptr) {
        RunBeside<kProfiles>(worker, *beside);
        beside = work_.Finish(1) ? EndPhase(worker) : nullptr;
      }
    }
  }

  // The exchanges of a phase, while others run its instructions.
  template <bool kProfiles>
  void RunBeside(int worker, const LoadedPhase& phase) {
    if constexpr (kProfiles) run_.args.profile->EndWait(worker, 0);
    RunExchanges(phase);
    if constexpr (kProfiles) run_.args.profile->EndWait(worker, 0, ProfileSpan::Kind::kExchange);
  }

  void SetComputes(int worker, bool computes) {
    if (own_cpus_) own_cpus_->SetComputes(worker, computes);
  }

  // Binds a worker to its own CPU, unless it computes alone.
  void Return(int worker, const SharedWork::Phase& phase) {
    if (own_cpus_) phase.only < 0 ? own_cpus_->Return(worker) : own_cpus_->Unbind(worker);
  }

  // Waits for a phase after number `seen`.
  SharedWork::Phase NextPhase(int worker, uint64_t seen) {
    // Two migrations of a thread take less than the first pause.
    constexpr std::chrono::nanoseconds kFirst = std::chrono::microseconds(50);
    constexpr std::chrono::nanoseconds kMost = std::chrono::milliseconds(2);
    SharedWork::Phase phase = work_.Spin(worker, seen);
    for (auto pause = kFirst; phase.number == seen; pause = std::min(2 * pause, kMost)) {
      // One that computes alone needs no CPU of others.
      if (!own_cpus_ || phase.only >= 0) return work_.Wait(worker, seen);
      own_cpus_->Watch(worker);
      phase = work_.Sleep(worker, seen, pause);
      if (phase.number == seen) own_cpus_->Lend(worker);
    }
    return phase;
  }

  // Runs this worker's groups of parts of a phase. Then runs the groups that other workers have not
  // begun, unless there are more workers than CPUs. Returns the number of groups.
  template <bool kProfiles>
  int RunGroups(int worker, const SharedWork::Phase& phase) {
    NoRecorder no_recorder(run_.args.profile, worker);
    std::conditional_t<kProfiles, SpanRecorder, NoRecorder> recorder(run_.args.profile, worker);
    const int owners = spin_ ? num_workers_ : 1;
    int groups = 0;
    for (int i = 0; i < owners; ++i) {
      const int owner = (worker + i) % num_workers_;
      for (int group; (group = work_.Claim(phase, worker, owner)) >= 0; ++groups) {
        SetComputes(worker, true);
        const ScheduledPhase& scheduled = schedule_.current();
        if (groups == 0)
          recorder.PhaseBegins(phase.number, scheduled.kind == ScheduledPhase::kPeriodic);
        if (recorder.records()) {
          RunGroup(worker, *scheduled.phase, group, recorder);
        } else {
          RunGroup(worker, *scheduled.phase, group, no_recorder);
        }
      }
    }
    return groups;
  }

  // Interleaves the parts of one group of a phase, usually one part. A worker with a failed part
  // still arrives at every rendezvous.
  template <class Recorder>
  void RunGroup(int worker, const LoadedPhase& phase, int group, Recorder& recorder) {
    const int side_by_side = phase.interleaved;
    const int begin = group * side_by_side, end = begin + side_by_side;
    for (int part = begin; part < end; ++part) {
      bases_[part].of = run_.bases;
      bases_[part].of[static_cast<size_t>(Base::kWorker)] =
          run_.program->worker(worker, phase.joined ? 0 : part - begin);
    }
    int64_t ran = 0;
    for (const LoadedInstruction& instruction : phase.instructions) {
      const auto run = [&](int part) {
        if (failed_.load(std::memory_order_relaxed)) return;
        ++ran;
        recorder.WaitEnds();
        const absl::Status status = RunInstruction(instruction, worker, part);
        if (!phase.joined) recorder.InstructionEnds(instruction.number, part, 1);
        if (status.ok()) return;
        Fail(Annotate(status, Describe(*instruction.instruction)));
      };
      const int replicas_per_call = instruction.replicas_per_call;
      if (replicas_per_call > side_by_side) {
        Barrier& rendezvous = run_.program->Rendezvous(replicas_per_call, begin);
        recorder.WaitBegins();
        SetComputes(worker, false);
        rendezvous.Arrive([&] {
          SetComputes(worker, true);
          run(begin / replicas_per_call * replicas_per_call);
        });
        SetComputes(worker, true);
        recorder.WaitEnds();
        continue;
      }
      const int first = instruction.FirstPartFrom(begin),
                last = std::min(end, instruction.end_part);
      for (int part = first; part < last; part += replicas_per_call * instruction.part_step)
        run(part);
      // The calls of a joined phase are too short to read the clock for each.
      if (phase.joined)
        recorder.InstructionEnds(instruction.number, first, (last - first) / replicas_per_call);
    }
    counts_[worker].instructions.fetch_add(ran, std::memory_order_relaxed);
  }

  // Runs part `part` and the other parts of the same call.
  absl::Status RunInstruction(const LoadedInstruction& instruction, int worker, int part) {
    const KernelArgs args = instruction.ArgsOf(bases_, worker, part, pointers_[worker]);
    if (instruction.is_update) [[unlikely]]
      return RunUpdate(instruction, args);
    return instruction.kernel->Run(args);
  }

  // Checks the new value of a variable for NaN and infinity while it is in the cache. Not inlined,
  // to keep it out of the code path of every instruction.
  [[gnu::noinline]] absl::Status RunUpdate(const LoadedInstruction& instruction, KernelArgs args) {
    bool not_finite = false;
    if (instruction.kernel_checks) args.not_finite = &not_finite;
    const int64_t end = args.end, units = std::max<int64_t>(1, instruction.checked_units);
    for (; args.begin < end; args.begin = args.end) {
      args.end = std::min(args.begin + units, end);
      const absl::Status status = instruction.kernel->Run(args);
      if (!status.ok()) return status;
      for (const CheckedResult& checked : instruction.checked)
        not_finite |= !instruction.IsFinite(checked, args);
    }
    if (not_finite) not_finite_.store(true, std::memory_order_relaxed);
    return absl::OkStatus();
  }

  void Fail(absl::Status status) {
    std::lock_guard lock(mutex_);
    if (first_error_.ok()) first_error_ = std::move(status);
    failed_.store(true);
  }

  // The functions below run only in the thread that has ended a phase, and in Run before the first.

  // Begins the next phase with instructions, or ends the run. Of a step for one worker, `worker`
  // computes it. If that phase has exchanges too, returns it: the caller is to run them while
  // workers run the instructions, and then to tell work_, which counts them as a unit.
  const LoadedPhase* BeginPhase(int worker) {
    while (!run_.stop) {
      if (schedule_.ended()) {
        if (schedule_.in_step()) EndStep();
        if (!run_.stop) schedule_.BeginStep(run_.index, run_.tries_alone && sharing().alone());
        continue;
      }
      const LoadedPhase& phase = *schedule_.current().phase;
      if (!phase.instructions.empty()) break;
      if (!phase.exchanges.empty()) RunExchangesAlone(phase);
      schedule_.Next();
    }
    if (run_.stop) {
      work_.End();
      return nullptr;
    }
    const ScheduledPhase& next = schedule_.current();
    if (next.kind == ScheduledPhase::kPeriodic) run_.phase_begin = std::chrono::steady_clock::now();
    const int side_by_side = next.phase->interleaved;
    const LoadedPhase* const beside = next.phase->exchanges.empty() ? nullptr : next.phase;
    work_.Begin((next.phase->parts + side_by_side - 1) / side_by_side, beside == nullptr ? 0 : 1,
                schedule_.alone() ? worker : -1);
    return beside;
  }

  // Returns what BeginPhase does.
  const LoadedPhase* EndPhase(int worker) {
    const ScheduledPhase& ended = schedule_.current();
    if (ended.kind == ScheduledPhase::kPeriodic) {
      const std::chrono::duration<double> seconds =
          std::chrono::steady_clock::now() - run_.phase_begin;
      run_.result.periodic_seconds += seconds.count();
    }
    if (failed_.load(std::memory_order_relaxed)) {
      run_.stop = true;
      failed_.store(false);
    }
    if (ended.kind == ScheduledPhase::kOfStep) AfterStepPhase(ended.index);
    schedule_.Next();
    return BeginPhase(worker);
  }

  // The exchanges of a phase without instructions. All workers wait.
  void RunExchangesAlone(const LoadedPhase& phase) {
    const int64_t begin = WaitBegins();
    RunExchanges(phase);
    WaitEnds(begin, ProfileSpan::Kind::kExchange);
  }

  void RunExchanges(const LoadedPhase& phase) {
    TPURUN_DCHECK(run_.args.fabric != nullptr);
    const absl::Status status = exchanges_.Run(phase.exchanges, run_.bases, *run_.args.fabric);
    if (status.ok()) return;
    run_.result.status = status;
    run_.stop = true;
  }

  void AfterStepPhase(int phase) {
    const CoreProgram& program = run_.program->program();
    if (run_.stop || program.loss.space == Space::kNone || phase != program.loss_phase) return;
    BadLoss bad;
    for (int replica = program.num_replicas; replica-- > 0;) {
      const float loss = run_.program->Loss(replica, run_.bases);
      if (!std::isfinite(loss)) bad = {program.first_replica + replica, loss};
    }
    if (run_.args.fabric != nullptr) {
      const absl::Status shared = ShareBadLoss(*run_.args.fabric, bad);
      if (!shared.ok()) return StopAt(shared);
    }
    if (bad.replica < 0) return;
    run_.result.loss_not_finite = true;
    run_.result.bad_replica = bad.replica;
    run_.result.status =
        absl::AbortedError(absl::StrCat("the loss of core ", bad.replica, " is ", bad.loss));
    run_.stop = true;
  }

  void EndStep() {
    const CoreProgram& program = run_.program->program();
    if (program.loss.space != Space::kNone) {
      run_.result.loss.resize(program.num_replicas);
      for (int replica = 0; replica < program.num_replicas; ++replica) {
        run_.result.loss[replica] = run_.program->Loss(replica, run_.bases);
      }
    }
    if (run_.args.infeed != nullptr) run_.args.infeed->Pop();
    absl::Status ended = CheckVariables();
    if (run_.feeds_out) {
      if (run_.args.fabric != nullptr) ended.Update(GatherOutfeed());
      run_.args.outfeed->Commit();
    }
    ++run_.result.steps;
    ++run_.index;
    steps_done_.store(run_.result.steps, std::memory_order_relaxed);
    if (run_.tries_alone) sharing().StepEnds(StepSharing::Clock::now);
    if (run_.args.profile != nullptr) run_.args.profile->AddStepTick(run_.index, Ticks());
    NextStep(std::move(ended));
  }

  absl::Status GatherOutfeed() {
    return tpurun::GatherOutfeed(
        *run_.args.fabric, run_.program->program(),
        [&](int64_t period) { return schedule_.IsDue(period, run_.index); },
        run_.bases[static_cast<size_t>(Base::kOutfeed)]);
  }

  // Aborted if a variable is not finite. A value that was overwritten again does not count.
  absl::Status CheckVariables() {
    if (!not_finite_.load(std::memory_order_relaxed)) return absl::OkStatus();
    not_finite_.store(false, std::memory_order_relaxed);
    run_.result.not_finite = run_.program->FindNotFinite();
    if (!run_.result.not_finite.has_value()) return absl::OkStatus();
    const int variable = run_.result.not_finite->variable;
    return absl::AbortedError(absl::StrCat(
        "variable \"", run_.program->program().variables[variable].name, "\" is not finite"));
  }

  // Decides whether there is a next step, and fetches its queue entries. `ended`: OK, or why the
  // run stops after the last step.
  void NextStep(absl::Status ended) {
    run_.feeds_out = false;
    const bool last = run_.result.steps >= run_.args.iterations;
    if (ended.ok() && !last) ended = FetchEntries();
    if (run_.args.fabric != nullptr) ended = Agree(ended, last);
    if (!ended.ok()) {
      run_.result.between_steps = true;
      return StopAt(ended);
    }
    if (last) {
      run_.stop = true;
      return;
    }
    run_.program->set_loop_index(static_cast<int32_t>(run_.index));
  }

  // Cancelled after an interrupt.
  absl::Status FetchEntries() {
    if (run_.args.interrupt != nullptr &&
        run_.args.interrupt->load(std::memory_order_relaxed) != 0) {
      return absl::CancelledError("interrupted");
    }
    if (run_.args.infeed != nullptr) {
      // In a step that is not recorded a wait that does not block is not either.
      const bool blocks = run_.args.infeed->depth() == 0;
      const int64_t begin = WaitBegins(blocks);
      const absl::StatusOr<const std::byte*> entry = run_.args.infeed->Front(run_.args.interrupt);
      WaitEnds(begin, ProfileSpan::Kind::kInfeed);
      RETURN_IF_ERROR(entry.status());
      run_.bases[static_cast<size_t>(Base::kInfeed)] = const_cast<std::byte*>(*entry);
    }
    if (run_.args.outfeed != nullptr && schedule_.HasPeriodic(run_.index)) {
      const int64_t begin = WaitBegins();
      const absl::StatusOr<std::byte*> entry = run_.args.outfeed->Reserve();
      WaitEnds(begin, ProfileSpan::Kind::kOutfeed);
      RETURN_IF_ERROR(entry.status());
      std::memcpy(*entry, &run_.index, sizeof(run_.index));
      run_.bases[static_cast<size_t>(Base::kOutfeed)] = *entry + kOutfeedHeaderBytes;
      run_.feeds_out = true;
    }
    return absl::OkStatus();
  }

  // OK if all processes go on. Else the same error in each, but for the name of its process. Where
  // the run ends, gathers the losses of the last completed step.
  absl::Status Agree(const absl::Status& own, bool last) {
    Fabric& fabric = *run_.args.fabric;
    const int64_t begin = WaitBegins();
    absl::Status agreed = AgreeToGoOn(fabric, own);
    if (last || !agreed.ok()) agreed.Update(GatherLosses(fabric, run_.result.loss));
    WaitEnds(begin, ProfileSpan::Kind::kExchange);
    return agreed;
  }

  // The ticks, or 0 if the wait is not recorded.
  int64_t WaitBegins(bool blocks = true) const {
    const RunProfile* const profile = run_.args.profile;
    return profile != nullptr && (blocks || profile->records()) ? Ticks() : 0;
  }
  void WaitEnds(int64_t begin, ProfileSpan::Kind kind) {
    if (begin == 0) return;
    run_.args.profile->AddWait({.begin = begin, .end = Ticks(), .kind = kind});
  }

  void Interrupt() {
    run_.result.interrupted = true;
    run_.stop = true;
  }

  void StopAt(const absl::Status& status) {
    const bool interrupt = run_.args.interrupt != nullptr && run_.args.interrupt->load() != 0;
    const bool of_a_peer = run_.args.fabric != nullptr;
    if (absl::IsCancelled(status) && (interrupt || of_a_peer)) return Interrupt();
    run_.result.status = status;
    run_.stop = true;
  }

  const std::vector<int> cpus_;
  const int num_workers_;
  const bool spin_;
  std::optional<WorkerCpus> own_cpus_;  // with a worker for each CPU
  SharedWork work_;
  std::vector<std::thread> threads_;

  std::atomic<uint32_t> start_{0};
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;           // number of workers in a run; guarded by mutex_
  absl::Status first_error_;  // guarded by mutex_ while workers run
  std::atomic<bool> failed_{false};
  std::atomic<int64_t> steps_done_{0};   // in this run
  std::atomic<bool> not_finite_{false};  // an update of this step has written a NaN or an infinity

  RunState run_;
  Exchanges exchanges_;
  PhaseSchedule schedule_;
  std::array<PartBases, kMaxParts> bases_ = {};
  std::vector<std::vector<void*>> pointers_;  // [worker]; for the addresses of one instruction
  std::vector<Count> counts_;                 // [worker]
};

}  // namespace

std::unique_ptr<Device> Device::Create(int num_workers) {
  return std::make_unique<Workers>(num_workers);
}

}  // namespace tpurun
