// RunProfile: what every worker did in the steps of a run, span by span.
#ifndef TPURUN_RUNTIME_DEVICE_RUN_PROFILE_H_
#define TPURUN_RUNTIME_DEVICE_RUN_PROFILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/base/ticks.h"
#include "runtime/program/core_program.h"

namespace tpurun {

struct ProfileSpan {
  enum class Kind : uint8_t {
    kInstruction,  // one or several calls, with what it took to begin them
    kUnrecorded,   // computed or waited in steps that are not recorded
    kBarrier,      // waited for the begin of the next phase that it took notice of
    kRendezvous,   // waited for the other workers of a call that spans replicas
    kInfeed,       // the device waited for a batch
    kOutfeed,      // the device waited for the host to take an outfeed entry
    kExchange,     // values were exchanged with other processes, or waited for
  };
  int64_t begin = 0, end = 0;  // ticks
  // kInstruction: index in CoreProgram::Instructions(); kBarrier and kUnrecorded: a number of the
  // phase behind it, the same for all workers, or 0 if no call of a phase is behind it
  int32_t instruction = -1;
  int16_t part = -1;  // kInstruction: the first part of the first call
  Kind kind = Kind::kInstruction;
  int8_t calls = 1;  // kInstruction: of consecutive parts, one after another
};
static_assert(kMaxParts <= std::numeric_limits<int8_t>::max());

// Call `i` of a span of an instruction with so many replicas per call, as if all took equally long.
ProfileSpan CallOfSpan(const ProfileSpan& span, int i, int replicas_per_call);

// The steps of which each call is recorded.
enum class ProfileDetail : uint8_t {
  kEveryStep,
  // Where recording takes more than 0.5 % of a step, so few steps that it takes 0.5 % of all, but
  // 10 at least. Of the others only the begin and the waits of all workers for queues and other
  // processes are recorded: their workers do not read the clock. Phases of periodic sections are
  // always recorded; so is every step if calls wait for other workers (replicas_per_call).
  kSomeSteps,
};

// Written by the workers of one run, each its own list. All memory is allocated before the run.
class RunProfile {
 public:
  // For `steps` steps of the program on `num_workers` workers, the first of them with the loop
  // index `first_index`. Nothing is recorded of the steps before and after.
  RunProfile(const CoreProgram& program, int num_workers, int64_t steps, int64_t first_index = 0,
             ProfileDetail detail = ProfileDetail::kEveryStep);

  // Spans of a worker, without a gap, in order. The first and the last may begin before the steps
  // or end after them. Those of the last three kinds lie within a kBarrier or a
  // kUnrecorded of every worker, and are in the list `waits` below; but exchanges beside the
  // instructions of a phase are spans of the worker that runs them.
  const std::vector<ProfileSpan>& spans(int worker) const { return workers_[worker].spans; }
  int num_workers() const { return static_cast<int>(workers_.size()); }
  const std::vector<ProfileSpan>& waits() const { return steps_->waits; }
  // The begin of the first step and the end of each step, in ticks.
  const std::vector<int64_t>& step_ticks() const { return steps_->ticks; }
  double seconds_per_tick() const { return SecondsPerTick(begin_, end_); }
  // The moment step_ticks()[i], in nanoseconds since 1970.
  int64_t StepNanoseconds(size_t i) const;
  int64_t recorded_steps() const { return steps_->recorded; }
  // Of `waits`, those in steps that were not recorded.
  int64_t unrecorded_wait_ticks() const { return steps_->unrecorded_wait_ticks; }
  // False if a list was full and spans were left out.
  bool complete() const;

  // ---- called by the device

  void Begin();
  // No worker runs.
  void End();
  // Whether the current step is to be recorded.
  bool records() const { return records_.load(std::memory_order_relaxed); }
  // Ends the current span of a worker, which began where its last one ended.
  void EndSpan(int worker, ProfileSpan::Kind kind, int instruction = -1, int part = -1,
               int calls = 1) {
    Add(worker, {.end = Ticks(),
                 .instruction = instruction,
                 .part = static_cast<int16_t>(part),
                 .kind = kind,
                 .calls = static_cast<int8_t>(calls)});
  }
  // The same for a worker that waited for phase `number`, or ran the exchanges of another one. Does
  // nothing in a step that is not recorded.
  void EndWait(int worker, uint64_t number, ProfileSpan::Kind kind = ProfileSpan::Kind::kBarrier) {
    if (!records()) return;
    EndUnrecorded(worker, number, resumed_.load(std::memory_order_relaxed));
    EndSpan(worker, kind, static_cast<int>(number));
  }
  // Ends the time in which the worker recorded nothing, if it has not ended before `ticks`. Phase
  // `number` follows.
  void EndUnrecorded(int worker, uint64_t number, int64_t ticks);
  // By one thread at a time.
  void AddWait(const ProfileSpan& span) {
    if (!Overlaps(span)) return;
    steps_->waits.push_back(span);
    if (!records()) steps_->unrecorded_wait_ticks_of_step += span.end - span.begin;
  }
  // Step `index` of the loop begins at `ticks`, where the step before ends. No worker computes.
  void AddStepTick(int64_t index, int64_t ticks);

 private:
  bool Overlaps(const ProfileSpan& span) const {
    return span.end > from_.load(std::memory_order_relaxed) &&
           span.begin < to_.load(std::memory_order_relaxed);
  }

  // A span of the worker that begins where its last one ended.
  void Add(int worker, ProfileSpan span) {
    Worker& mine = workers_[worker];
    span.begin = mine.end;
    mine.end = span.end;
    if (!Overlaps(span)) return;
    if (mine.spans.size() < mine.spans.capacity()) {
      mine.spans.push_back(span);
    } else {
      mine.full = true;
    }
  }

  // Decides whether the step after `ended` steps is recorded.
  void ChooseNextStep(int64_t ended);

  struct alignas(64) Worker {
    std::vector<ProfileSpan> spans;
    int64_t end = 0;  // ticks: of the last span
    bool full = false;
  };
  // Written at the end of every step. Its cache lines have nothing that workers read in a step.
  struct alignas(64) Steps {
    std::vector<ProfileSpan> waits;
    std::vector<int64_t> ticks;
    int64_t recorded = 0, next_recorded = 0;
    int64_t unrecorded_wait_ticks = 0;  // of the steps that have ended
    int64_t unrecorded_wait_ticks_of_step = 0;
  };

  std::vector<Worker> workers_;
  const int64_t first_index_, num_steps_;
  const ProfileDetail detail_;
  const int64_t spans_of_step_;  // of a worker, about
  // Ticks of the steps. A worker may wait while another one ends a step.
  std::atomic<int64_t> from_ = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> to_ = std::numeric_limits<int64_t>::max();
  std::atomic<bool> records_ = true;
  // Ticks: the begin of the last step that is not recorded behind one that is, and of the last one
  // that is recorded behind one that is not.
  std::atomic<int64_t> paused_ = 0, resumed_ = 0;
  TickMark begin_, end_;
  int64_t begin_ns_ = 0;  // begin_ in nanoseconds since 1970
  const std::unique_ptr<Steps> steps_ = std::make_unique<Steps>();
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_RUN_PROFILE_H_
