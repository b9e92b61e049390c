// HostTrace: what threads of the host do beside the device, span by span.
#ifndef TPURUN_RUNTIME_BASE_HOST_TRACE_H_
#define TPURUN_RUNTIME_BASE_HOST_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/ticks.h"

namespace tpurun {

// Thread-safe. Keeps the latest spans.
class HostTrace {
 public:
  enum class Lane : uint8_t { kInfeed, kOutfeed, kCheckpoint };
  struct Span {
    Lane lane = Lane::kInfeed;
    std::string name;            // "batch 7"
    int64_t begin = 0, end = 0;  // ticks
  };

  void Add(Span span) {
    constexpr size_t kMostSpans = 1 << 16;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (spans_.size() == kMostSpans) spans_.pop_front();
    spans_.push_back(std::move(span));
  }
  std::vector<Span> spans() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {spans_.begin(), spans_.end()};
  }

  // Adds a span of its lifetime, with the name and a number. `trace` may be nullptr: nothing is
  // done.
  class Scope {
   public:
    Scope(HostTrace* trace, Lane lane, const char* name, int64_t number)
        : trace_(trace), lane_(lane), name_(name), number_(number) {
      if (trace_ != nullptr) begin_ = Ticks();
    }
    ~Scope() {
      if (trace_ == nullptr) return;
      trace_->Add({lane_, std::string(name_) + " " + std::to_string(number_), begin_, Ticks()});
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    HostTrace* const trace_;
    const Lane lane_;
    const char* const name_;
    const int64_t number_;
    int64_t begin_ = 0;
  };

 private:
  mutable std::mutex mutex_;
  std::deque<Span> spans_;  // guarded by mutex_
};

// "infeed"
inline const char* LaneName(HostTrace::Lane lane) {
  switch (lane) {
    case HostTrace::Lane::kInfeed:
      return "infeed";
    case HostTrace::Lane::kOutfeed:
      return "outfeed";
    case HostTrace::Lane::kCheckpoint:
      return "checkpoint";
  }
  return "";
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_HOST_TRACE_H_
