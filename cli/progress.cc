#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tpurun {
namespace {

constexpr std::chrono::milliseconds kDrawPeriod(100);
constexpr char kClearLine[] = "\r\x1b[K";

bool IsShown(const CommandLine& command, bool writes_output) {
  if (command.GetBool("quiet") || isatty(STDERR_FILENO) != 1) return false;
  return !writes_output || isatty(STDOUT_FILENO) != 1;
}

// A longer text would wrap, and only its last line would be erased.
std::string Fitting(std::string text) {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  if (known && text.size() >= size.ws_col) text.resize(size.ws_col - 1);
  return text;
}

void WriteToTerminal(const std::string& text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

ProgressLine::ProgressLine(const CommandLine& command, bool writes_output)
    : shown_(IsShown(command, writes_output)) {}

ProgressLine::~ProgressLine() { Erase(); }

void ProgressLine::Erase() {
  if (drawn_ != Clock::time_point()) WriteToTerminal(kClearLine);
}

void ProgressLine::Draw(const std::string& text) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || (drawn_ != Clock::time_point() && now - drawn_ < kDrawPeriod)) return;
  drawn_ = now;
  WriteToTerminal(absl::StrCat(kClearLine, Fitting(text), "\r"));
}

std::function<void(int64_t)> ProgressLine::Counter(const std::string& units) {
  if (!shown_) return nullptr;
  return [this, units](int64_t count) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    Draw(absl::StrFormat("%d %s, %.0f %s/s", count, units,
                         static_cast<double>(count) / std::max(seconds, 1e-9), units));
  };
}

}  // namespace tpurun
