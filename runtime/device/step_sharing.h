// StepSharing: whether all workers compute the steps of a program, or one of them alone. To hand
// over a phase of a few microseconds may take longer than it saves, and on a virtual machine it
// takes longer at times. So both are timed, again and again. Results have the same bits.
#ifndef TPURUN_RUNTIME_DEVICE_STEP_SHARING_H_
#define TPURUN_RUNTIME_DEVICE_STEP_SHARING_H_

#include <array>
#include <chrono>
#include <cstdint>

namespace tpurun {

// Every trial times windows of steps of either kind in turn, and compares the fastest ones: what
// else the system does in a window only makes it slower. In between the faster kind runs, for a
// period that doubles as long as the trials agree.
class StepSharing {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kWindow = 32;  // steps
  static constexpr int kWindows = 6;      // of a trial
  // Between windows so many steps and so much time do not count: workers wake up.
  static constexpr int64_t kSkipped = 8;
  static constexpr Clock::duration kWakingUp = std::chrono::microseconds(200);
  // Steps before the first trial, and from one to the next.
  static constexpr int64_t kFirstRest = 32, kLeastRest = 1 << 13, kMostRest = 1 << 16;
  // A trial ends when a window has taken so many times that of the other kind.
  static constexpr int kMuchSlower = 3;

  // Whether one worker computes the next step alone.
  bool alone() const { return alone_; }
  bool in_trial() const { return stage_ != Stage::kRest; }
  // The time between runs does not count.
  void RunBegins(Clock::time_point now) { begin_ += now - run_end_; }
  void RunEnds(Clock::time_point now) { run_end_ = now; }
  // `now()` gives the time. It is called at the ends of windows.
  template <typename Now>
  void StepEnds(Now now) {
    if (--steps_ == 0) StageEnds(now());
  }

 private:
  enum class Stage { kRest, kSkip, kWindow };

  void StageEnds(Clock::time_point now);
  void Begin(Stage stage, int64_t steps) {
    stage_ = stage;
    steps_ = steps;
  }
  // After a window has begun at begin_ and ended at `now`.
  void WindowEnds(Clock::time_point now);
  void Rest(bool alone);

  bool alone_ = false;
  Stage stage_ = Stage::kRest;
  int64_t steps_ = kFirstRest;  // left of the stage
  int windows_ = 0;             // of the trial, that have ended
  bool chosen_ = false;         // alone_ of the last rest
  int64_t rest_ = kLeastRest;
  Clock::time_point run_end_;
  Clock::time_point begin_;                      // of the window, or of what is skipped before it
  std::array<Clock::duration, 2> fastest_ = {};  // [alone] window of the trial
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_STEP_SHARING_H_
