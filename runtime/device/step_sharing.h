// StepSharing: whether all workers compute the steps of a program, or one of them alone. To hand
// over a phase of a few microseconds may take longer than it saves: on a virtual machine a round
// trip between two CPUs takes 0.1 microseconds, or 0.5 where the host has moved one of them to
// another part of the processor. So both are measured, again and again. Results have the same bits.
#ifndef TPURUN_RUNTIME_DEVICE_STEP_SHARING_H_
#define TPURUN_RUNTIME_DEVICE_STEP_SHARING_H_

#include <array>
#include <chrono>
#include <cstdint>

namespace tpurun {

// Every trial times windows of steps of either kind in turn, and compares the fastest ones: what
// else the system does in a window only makes it slower. In between the faster kind runs, for a
// period that doubles as long as the trials agree. Trials take 0.4 % of the steps then.
class StepSharing {
 public:
  using Clock = std::chrono::steady_clock;
  // Of a window, and before it: the first steps of a kind wait for workers to wake up.
  static constexpr int64_t kWindow = 32, kSkipped = 8;
  static constexpr int kWindows = 6;  // of a trial
  static constexpr int64_t kLeastRest = 1 << 13, kMostRest = 1 << 15;
  // All workers share longer steps: handing them over does not count.
  static constexpr Clock::duration kLongest = std::chrono::microseconds(100);

  // `longest`: no trial while a step takes longer in all workers.
  explicit StepSharing(Clock::duration longest = kLongest) : longest_(longest) {}

  // Whether one worker computes the next step alone.
  bool alone() const { return alone_; }
  bool in_trial() const { return stage_ != Stage::kRest; }
  // The time between runs does not count.
  void RunBegins(Clock::time_point now) { begin_ += now - run_end_; }
  void RunEnds(Clock::time_point now) { run_end_ = now; }
  // `now()` gives the time. It is called twice for each window.
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
  void WindowEnds(Clock::duration window);
  void Rest(bool alone);

  Clock::duration longest_;
  bool alone_ = false;
  Stage stage_ = Stage::kRest;
  int64_t steps_ = kWindow;  // left of the stage
  int windows_ = 0;          // of the trial, that have ended
  bool chosen_ = false;      // alone_ of the last rest
  int64_t rest_ = kLeastRest;
  Clock::time_point run_end_;
  Clock::time_point begin_;                      // of the window
  std::array<Clock::duration, 2> fastest_ = {};  // [alone] window of the trial
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_STEP_SHARING_H_
