// A trace in the JSON Trace Event Format, which ui.perfetto.dev and chrome://tracing open: lanes of
// processes with spans, and counters. Source: "Trace Event Format", the public document of the
// Chromium project.
#ifndef TPURUN_RUNTIME_PROFILE_TRACE_EVENTS_H_
#define TPURUN_RUNTIME_PROFILE_TRACE_EVENTS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tpurun {

// The text as a JSON string. What is not UTF-8 is replaced.
std::string TraceString(std::string_view text);

// Times are microseconds, and are rounded to whole nanoseconds. Spans that touch do so afterwards.
class TraceEvents {
 public:
  // Processes are shown in the order of their numbers.
  void NameProcess(int process, std::string_view name);
  void NameLane(int process, int lane, std::string_view name);
  // `name` is a JSON string, `args` a JSON object.
  void AddSpan(int process, int lane, std::string_view name, double begin, double end,
               std::string_view args);
  // The counter has the value from `time` on.
  void AddCount(int process, std::string_view name, std::string_view unit, double time,
                int64_t value);

  // The text of the file. Call it last.
  std::string Take();

 private:
  void Add(std::string_view event);

  std::string events_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_TRACE_EVENTS_H_
