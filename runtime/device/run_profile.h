// RunProfile: what every worker did in the steps of a run, span by span.
#ifndef TPURUN_RUNTIME_DEVICE_RUN_PROFILE_H_
#define TPURUN_RUNTIME_DEVICE_RUN_PROFILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/base/ticks.h"
#include "runtime/program/core_program.h"

namespace tpurun {

struct ProfileSpan {
  enum class Kind : uint8_t {
    kInstruction,  // one part, or the parts of one call, with what it took to begin it
    kBarrier,      // waited for the begin of the next phase that it took notice of
    kRendezvous,   // waited for the other workers of a call that spans replicas
    kInfeed,       // the device waited for a batch
    kOutfeed,      // the device waited for the host to take an outfeed entry
    kExchange,     // values were exchanged with other processes, or waited for
  };
  int64_t begin = 0, end = 0;  // ticks
  // kInstruction: index in CoreProgram::Instructions(); kBarrier: a number of the phase behind it,
  // the same for all workers
  int32_t instruction = -1;
  int16_t part = -1;  // kInstruction: the first part of the call
  Kind kind = Kind::kInstruction;
};

// Written by the workers of one run, each its own list. All memory is allocated before the run.
class RunProfile {
 public:
  // For `steps` steps of the program on `num_workers` workers, the first of them with the loop
  // index `first_index`. Nothing is recorded of the steps before and after.
  RunProfile(const CoreProgram& program, int num_workers, int64_t steps, int64_t first_index = 0);

  // Spans of a worker, without a gap, in order. The first and the last may begin before the steps
  // or end after them. Those of the last three kinds lie within a kBarrier of every worker, and are
  // in the list `waits` below.
  const std::vector<ProfileSpan>& spans(int worker) const { return workers_[worker].spans; }
  int num_workers() const { return static_cast<int>(workers_.size()); }
  const std::vector<ProfileSpan>& waits() const { return waits_; }
  // The begin of the first step and the end of each step, in ticks.
  const std::vector<int64_t>& step_ticks() const { return step_ticks_; }
  double seconds_per_tick() const { return SecondsPerTick(begin_, end_); }
  // The moment step_ticks()[i], in nanoseconds since 1970.
  int64_t StepNanoseconds(size_t i) const;
  // False if a list was full and spans were left out.
  bool complete() const;

  // ---- called by the device

  void Begin();
  void End() { end_ = TickMark::Now(); }
  // Ends the current span of a worker, which began where its last one ended.
  void EndSpan(int worker, ProfileSpan::Kind kind, int instruction = -1, int part = -1) {
    Worker& mine = workers_[worker];
    const ProfileSpan span = {mine.end, Ticks(), instruction, static_cast<int16_t>(part), kind};
    mine.end = span.end;
    if (!Overlaps(span)) return;
    if (mine.spans.size() < mine.spans.capacity()) {
      mine.spans.push_back(span);
    } else {
      mine.full = true;
    }
  }
  // The same for a worker that waited for phase `number`.
  void EndWait(int worker, uint64_t number) {
    EndSpan(worker, ProfileSpan::Kind::kBarrier, static_cast<int>(number));
  }
  // By one thread at a time.
  void AddWait(const ProfileSpan& span) {
    if (Overlaps(span)) waits_.push_back(span);
  }
  // Step `index` of the loop begins at `ticks`, where the step before ends. No worker computes.
  void AddStepTick(int64_t index, int64_t ticks);

 private:
  bool Overlaps(const ProfileSpan& span) const {
    return span.end > from_.load(std::memory_order_relaxed) &&
           span.begin < to_.load(std::memory_order_relaxed);
  }

  struct alignas(64) Worker {
    std::vector<ProfileSpan> spans;
    int64_t end = 0;  // ticks: of the last span
    bool full = false;
  };
  std::vector<Worker> workers_;
  std::vector<ProfileSpan> waits_;
  std::vector<int64_t> step_ticks_;
  const int64_t first_index_, steps_;
  // Ticks of the steps. A worker may wait while another one ends a step.
  std::atomic<int64_t> from_ = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> to_ = std::numeric_limits<int64_t>::max();
  TickMark begin_, end_;
  int64_t begin_ns_ = 0;  // begin_ in nanoseconds since 1970
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_RUN_PROFILE_H_
