#include "runtime/device/run_profile.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tpurun {
namespace {

// What a span takes, 80 ns at 3 GHz: the clock is read in 9 ns (a loop of reads alone), but the
// memory that is written was in no cache. A recorded step of iris takes 2.4 microseconds more than
// another (the overhead of a run, of pairs, by the number of recorded steps).
constexpr int64_t kTicksOfSpan = 250;
// The most of a run that recording may take: 1 / 200.
constexpr int64_t kShareOfRun = 200;
// So many steps at least are recorded, if there are as many.
constexpr int64_t kLeastRecorded = 10;

// The number of spans of a worker that runs every part of the phases.
size_t MostSpans(const std::vector<Phase>& phases) {
  size_t spans = 0;
  for (const Phase& phase : phases) {
    // Each part may wait at a rendezvous.
    for (const Instruction& instruction : phase.instructions) spans += 2 * instruction.parts;
    spans += 3;  // the barrier, and that before exchanges beside the instructions, and these
  }
  return spans;
}

// The spans of a worker that runs its share of a step.
int64_t SpansOfStep(const CoreProgram& program, int num_workers) {
  int64_t spans = 0, phases = 0;
  for (const Phase& phase : program.step) {
    ++phases;
    for (const Instruction& instruction : phase.instructions) {
      spans += instruction.parts /
               (phase.joined() ? phase.replicas_per_call() : instruction.replicas_per_call);
    }
  }
  return (spans + num_workers - 1) / num_workers + phases;
}

bool WaitsAtRendezvous(const CoreProgram& program, int num_workers) {
  const Interleaving interleaving = program.interleaving();
  return std::any_of(program.step.begin(), program.step.end(), [&](const Phase& phase) {
    const int replicas = phase.replicas_per_call();
    return InterleavedParts(replicas, interleaving, num_workers) < replicas;
  });
}

}  // namespace

ProfileSpan CallOfSpan(const ProfileSpan& span, int i, int replicas_per_call) {
  ProfileSpan call = span;
  call.begin = span.begin + (span.end - span.begin) * i / span.calls;
  call.end = span.begin + (span.end - span.begin) * (i + 1) / span.calls;
  call.part = static_cast<int16_t>(span.part + i * replicas_per_call);
  call.calls = 1;
  return call;
}

RunProfile::RunProfile(const CoreProgram& program, int num_workers, int64_t steps,
                       int64_t first_index, ProfileDetail detail)
    : workers_(num_workers),
      first_index_(first_index),
      num_steps_(steps),
      detail_(WaitsAtRendezvous(program, num_workers) ? ProfileDetail::kEveryStep : detail),
      spans_of_step_(SpansOfStep(program, num_workers)) {
  size_t of_step = MostSpans(program.step) + 2;  // and EndUnrecorded
  for (const PeriodicSection& section : program.periodic)
    of_step += MostSpans(section.before) + MostSpans(section.after);
  const size_t spans = 1 + MostSpans(program.prologue) + of_step * static_cast<size_t>(steps);
  for (Worker& worker : workers_) {
    worker.spans.resize(spans);  // touched now, so that no step waits for the memory
    worker.spans.clear();
  }
  steps_->waits.reserve(2 * static_cast<size_t>(steps) + 2);
  steps_->ticks.reserve(static_cast<size_t>(steps) + 1);
}

void RunProfile::Begin() {
  begin_ = TickMark::Now();
  for (Worker& worker : workers_) worker.end = begin_.ticks;
  begin_ns_ = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

void RunProfile::End() {
  end_ = TickMark::Now();
  if (records() || steps_->ticks.empty()) return;
  for (int worker = 0; worker < num_workers(); ++worker)
    EndUnrecorded(worker, 0, steps_->ticks.back());
}

void RunProfile::EndUnrecorded(int worker, uint64_t number, int64_t ticks) {
  const int64_t end = workers_[worker].end;
  if (end >= ticks) return;
  const int64_t paused = paused_.load(std::memory_order_relaxed);
  ProfileSpan span = {.instruction = static_cast<int32_t>(number)};
  if (end < paused) {  // it waited for the end of the last recorded step
    span.kind = ProfileSpan::Kind::kBarrier;
    span.end = paused;
    Add(worker, span);
  }
  // A worker that slept through recorded steps may find that the time of a later pause.
  span.kind = ProfileSpan::Kind::kUnrecorded;
  span.end = std::max(paused, ticks);
  Add(worker, span);
}

void RunProfile::AddStepTick(int64_t index, int64_t ticks) {
  const int64_t ended = index - first_index_;
  if (ended < 0 || ended > num_steps_) return;
  steps_->ticks.push_back(ticks);
  if (ended == 0) from_ = ticks;
  if (ended == num_steps_) to_ = ticks;
  if (ended > 0 && records()) ++steps_->recorded;
  steps_->unrecorded_wait_ticks += std::exchange(steps_->unrecorded_wait_ticks_of_step, 0);
  if (detail_ == ProfileDetail::kSomeSteps) ChooseNextStep(ended);
}

void RunProfile::ChooseNextStep(int64_t ended) {
  if (ended > 0 && records()) {
    const int64_t ticks = std::max<int64_t>(1, steps_->ticks[ended] - steps_->ticks[ended - 1]);
    const int64_t steps = (kShareOfRun * spans_of_step_ * kTicksOfSpan + ticks - 1) / ticks;
    steps_->next_recorded =
        ended - 1 +
        std::clamp<int64_t>(steps, 1, std::max<int64_t>(1, num_steps_ / kLeastRecorded));
  }
  const bool next = ended >= steps_->next_recorded;
  if (next == records()) return;
  (next ? resumed_ : paused_).store(steps_->ticks[ended], std::memory_order_relaxed);
  records_.store(next, std::memory_order_relaxed);
}

int64_t RunProfile::StepNanoseconds(size_t i) const {
  const auto ticks = static_cast<double>(steps_->ticks[i] - begin_.ticks);
  return begin_ns_ + static_cast<int64_t>(ticks * seconds_per_tick() * 1e9);
}

bool RunProfile::complete() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const Worker& worker) { return worker.full; });
}

}  // namespace tpurun
