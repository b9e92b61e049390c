#include "cli/logging.h"

#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "cli/json.h"
#include "gflags/gflags.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::atomic<int64_t> warning_count{0};

// One write a line, so that lines of several threads stay whole. A log that cannot be written is
// lost: there is nowhere else to say so.
void WriteLine(const std::string& text) {
  // On a terminal a line of progress may stand there.
  static const char* const kClear = isatty(STDERR_FILENO) == 1 ? "\x1b[K" : "";
  const std::string line = kClear + text + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void Count(google::LogSeverity severity) {
  if (severity == google::WARNING) ++warning_count;
}

// The number of this process among several that run together.
int process = 0;

thread_local int no_log = 0;  // the number of ScopedNoLog

// With --colorlogtostderr, glog's colors on a terminal: yellow warnings, red errors.
std::string Colored(google::LogSeverity severity, const std::string& line) {
  const bool colored =
      FLAGS_colorlogtostderr && severity > google::INFO && isatty(STDERR_FILENO) == 1;
  if (!colored) return line;
  return (severity == google::WARNING ? "\x1b[0;33m" : "\x1b[0;31m") + line + "\x1b[m";
}

// Without control characters: names of files and variables are in them.
class TextLines : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char*, const char* base_filename, int line,
            const google::LogMessageTime& time, const char* message,
            size_t message_length) override {
    if (no_log > 0) return;
    Count(severity);
    const std::string text = OfProcess() + Escape({message, message_length});
    std::string shown;
    if (FLAGS_log_prefix) {
      shown = ToString(severity, base_filename, line, time, text.data(), text.size());
    } else {
      if (severity > google::INFO) shown = google::GetLogSeverityName(severity) + std::string(": ");
      shown += text;
    }
    WriteLine(Colored(severity, shown));
  }
};

class JsonLines : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char*, const char* base_filename, int line,
            const google::LogMessageTime& time, const char* message,
            size_t message_length) override {
    if (no_log > 0) return;
    Count(severity);
    Json object;
    object["severity"] = google::GetLogSeverityName(severity);
    object["time"] = JsonNumber(static_cast<double>(time.timestamp()) + time.usec() * 1e-6);
    object["file"] = base_filename;
    object["line"] = line;
    if (process > 0) object["process"] = process;
    object["message"] = JsonBytes({message, message_length});
    WriteLine(JsonText(object));
  }
};

}  // namespace

void StartLogging(const char* program, LogFormat format) {
  gflags::CommandLineFlagInfo prefix;
  gflags::GetCommandLineFlagInfo("log_prefix", &prefix);
  if (prefix.is_default) FLAGS_log_prefix = FLAGS_v > 0 || !FLAGS_vmodule.empty();
  // An empty destination writes no file.
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
    google::SetLogDestination(severity, "");
  }
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;  // only the sink writes
  static google::LogSink* const sink =
      format == LogFormat::kText ? static_cast<google::LogSink*>(new TextLines) : new JsonLines;
  google::AddLogSink(sink);
  google::InitGoogleLogging(program);
}

std::string OfProcess() { return process == 0 ? "" : absl::StrCat("process ", process, ": "); }

void LogAsProcess(int rank) {
  process = rank;
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, google::ERROR);
}

void LogWarningsOfProcess() {
  if (process > 0) FLAGS_minloglevel = std::min(FLAGS_minloglevel, google::WARNING);
}

ScopedNoLog::ScopedNoLog() { ++no_log; }
ScopedNoLog::~ScopedNoLog() { --no_log; }

void LogWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) LOG(WARNING) << warning;
}

int64_t WarningCount() { return warning_count; }

absl::Status CheckWarnings(const CommandLine& command) {
  return command.GetBool("strict") ? WarningsError(WarningCount()) : absl::OkStatus();
}

}  // namespace tpurun
