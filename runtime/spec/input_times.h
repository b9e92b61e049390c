// InputTimes: the time that each stage of an input pipeline takes.
#ifndef TPURUN_RUNTIME_SPEC_INPUT_TIMES_H_
#define TPURUN_RUNTIME_SPEC_INPUT_TIMES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tpurun {

// Used by one thread at a time. What several threads do at the same time counts for each of them.
class InputTimes {
 public:
  struct Stage {
    std::string name;    // "tfrecord", "shuffle", "parse_example", ..., "batch"
    int64_t rows = 0;    // rows that left the stage
    double seconds = 0;  // of threads, without the stages that it calls
  };
  const std::vector<Stage>& stages() const { return stages_; }
  // The number of the stage at place `place` of a pipeline. Several pipelines of one input share
  // their stages.
  size_t Number(size_t place, const std::string& name) {
    if (place == stages_.size()) stages_.push_back({.name = name});
    return place;
  }

  void Add(size_t stage, int64_t rows, double seconds) {
    stages_[stage].rows += rows;
    stages_[stage].seconds += seconds;
  }

  // A timer of no stage only leaves its time out of the timer around it.
  static constexpr size_t kNoStage = ~size_t{0};

  // Measures a stage for its lifetime. The time of timers that begin and end within it is not
  // counted. `times` may be nullptr.
  class Timer {
   public:
    Timer(InputTimes* times, size_t stage) : times_(times), stage_(stage) {
      if (times_ == nullptr) return;
      outer_ = times_->nested_;
      times_->nested_ = 0;
      begin_ = Clock::now();
    }
    ~Timer() {
      if (times_ == nullptr) return;
      const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
      if (stage_ != kNoStage) times_->stages_[stage_].seconds += seconds - times_->nested_;
      times_->nested_ = outer_ + seconds;
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    void AddRows(int64_t rows) {
      if (times_ != nullptr) times_->stages_[stage_].rows += rows;
    }

   private:
    using Clock = std::chrono::steady_clock;
    InputTimes* const times_;
    const size_t stage_;
    double outer_ = 0;
    Clock::time_point begin_;
  };

 private:
  std::vector<Stage> stages_;
  double nested_ = 0;  // seconds of the timers that ended within the current one
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_INPUT_TIMES_H_
