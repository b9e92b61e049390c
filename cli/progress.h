// The line that says how far a verb is, redrawn in place on a terminal.
#ifndef TPURUN_CLI_PROGRESS_H_
#define TPURUN_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/command_line.h"

namespace tpurun {

// At most ten times a second; gone when it is destroyed. One thread at a time.
class ProgressLine {
 public:
  // Of a verb that writes results to standard output meanwhile it is not shown there. With --quiet,
  // or where standard error is no terminal, it is not shown at all.
  ProgressLine(const CommandLine& command, bool writes_output);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shown() const { return shown_; }
  void Draw(const std::string& text);
  // Draws "N units, M units/s"; null where nothing is shown. It holds this object.
  std::function<void(int64_t count)> Counter(const std::string& units);

 private:
  using Clock = std::chrono::steady_clock;

  const bool shown_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_;
};

}  // namespace tpurun

#endif  // TPURUN_CLI_PROGRESS_H_
