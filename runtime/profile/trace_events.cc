#include "runtime/profile/trace_events.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kTraceBegin[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";

double WholeNanoseconds(double microseconds) { return std::round(microseconds * 1e3); }

// Perfetto takes the threads 0 of all processes for one: the idle thread of Linux.
int ThreadOf(int lane) { return lane + 1; }

}  // namespace

std::string TraceString(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void TraceEvents::NameProcess(int process, std::string_view name) {
  Add(absl::StrCat("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", process,
                   ",\"args\":{\"name\":", TraceString(name), "}}"));
  Add(absl::StrCat("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", process,
                   ",\"args\":{\"sort_index\":", process, "}}"));
}

void TraceEvents::NameLane(int process, int lane, std::string_view name) {
  Add(absl::StrCat("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", process,
                   ",\"tid\":", ThreadOf(lane), ",\"args\":{\"name\":", TraceString(name), "}}"));
}

void TraceEvents::AddSpan(int process, int lane, std::string_view name, double begin, double end,
                          std::string_view args) {
  const double from = WholeNanoseconds(begin), to = WholeNanoseconds(end);
  Add(absl::StrFormat(
      "{\"ph\":\"X\",\"name\":%s,\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":%s}",
      ToAbsl(name), process, ThreadOf(lane), from / 1e3, (to - from) / 1e3, ToAbsl(args)));
}

void TraceEvents::AddCount(int process, std::string_view name, std::string_view unit, double time,
                           int64_t value) {
  Add(absl::StrFormat("{\"ph\":\"C\",\"name\":%s,\"pid\":%d,\"ts\":%.3f,\"args\":{%s:%d}}",
                      TraceString(name), process, WholeNanoseconds(time) / 1e3, TraceString(unit),
                      value));
}

std::string TraceEvents::Take() {
  return absl::StrCat(kTraceBegin, std::exchange(events_, std::string()), "\n]}\n");
}

void TraceEvents::Add(std::string_view event) {
  absl::StrAppend(&events_, events_.empty() ? "" : ",\n", ToAbsl(event));
}

}  // namespace tpurun
