// The progress line of a verb, redrawn in place on a terminal.
#ifndef TPURUN_CLI_PROGRESS_H_
#define TPURUN_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/command_line.h"

namespace tpurun {

// Redrawn at most ten times a second, and erased by the destructor. Only one thread at a time may
// use it.
class ProgressLine {
 public:
  // Not shown with --quiet or if standard error is not a terminal. If the verb `writes_output` to
  // standard output meanwhile, without a call of Erase, not shown if that is a terminal either.
  ProgressLine(const CommandLine& command, bool writes_output);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shown() const { return shown_; }
  void Draw(const std::string& text);
  // Ahead of what the verb writes to standard output, which may be the same terminal.
  void Erase();
  // Returns a function that draws "N units, M units/s", or nullptr if nothing is shown. This object
  // must outlive the function.
  std::function<void(int64_t count)> Counter(const std::string& units);

 private:
  using Clock = std::chrono::steady_clock;

  const bool shown_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_;
};

}  // namespace tpurun

#endif  // TPURUN_CLI_PROGRESS_H_
