#include "runtime/profile/trace.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace tpurun {
namespace {

using Kind = ProfileSpan::Kind;

enum Process { kWorkers = 1, kCores = 2, kHost = 3 };
enum HostLane { kStepsLane = 0, kWaitsLane = 1, kHostLanes = 2 };
constexpr HostTrace::Lane kLanesOfHost[] = {HostTrace::Lane::kInfeed, HostTrace::Lane::kOutfeed,
                                            HostTrace::Lane::kCheckpoint};

std::string JsonString(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

class TraceWriter {
 public:
  TraceWriter(const CoreProgram& program, const RunProfile& run,
              const std::vector<HostTrace::Span>& host_spans)
      : run_(run), host_spans_(host_spans), num_replicas_(program.num_replicas) {
    for (const Instruction* instruction : program.Instructions()) {
      const bool named = !instruction->name.empty();
      instructions_.push_back(
          {JsonString(named ? instruction->name : instruction->op->name),
           absl::StrCat("{\"op\":", JsonString(instruction->op->name),
                        ",\"from\":", JsonString(Describe(instruction->origins)),
                        ",\"kernel\":", JsonString(instruction->plan.name()), ",\"part\":"),
           instruction->per_core, instruction->replicas_per_call});
    }
  }

  std::string Write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    NameProcess(kWorkers, "workers");
    for (int worker = 0; worker < run_.num_workers(); ++worker)
      NameLane(kWorkers, worker, absl::StrCat("worker ", worker));
    NameProcess(kCores, "emulated cores");
    for (int core = 0; core < num_replicas_; ++core)
      NameLane(kCores, core, absl::StrCat("core ", core));
    NameProcess(kHost, "host");
    NameLane(kHost, kStepsLane, "steps");
    NameLane(kHost, kWaitsLane, "waits of the device");
    for (const HostTrace::Lane lane : kLanesOfHost) NameLane(kHost, LaneOf(lane), LaneName(lane));
    const std::vector<int64_t>& ticks = run_.step_ticks();
    for (size_t step = 1; step < ticks.size(); ++step)
      Complete(kHost, kStepsLane, JsonString(absl::StrCat("step ", step)), ticks[step - 1],
               ticks[step], "{}");
    for (const ProfileSpan& wait : run_.waits()) {
      const char* const name = wait.kind == Kind::kInfeed    ? "\"wait for infeed\""
                               : wait.kind == Kind::kOutfeed ? "\"wait for outfeed\""
                                                             : "\"exchange\"";
      Complete(kHost, kWaitsLane, name, wait.begin, wait.end, "{}");
    }
    for (const HostTrace::Span& span : host_spans_) {
      if (ticks.empty() || span.end <= ticks.front() || span.begin >= ticks.back()) continue;
      Complete(kHost, LaneOf(span.lane), JsonString(span.name), span.begin, span.end, "{}");
    }
    for (int worker = 0; worker < run_.num_workers(); ++worker) {
      for (const ProfileSpan& span : run_.spans(worker)) AddSpan(worker, span);
    }
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  static int LaneOf(HostTrace::Lane lane) { return kHostLanes + static_cast<int>(lane); }

  struct Named {
    std::string name, args;  // JSON; the args lack their end
    bool per_core = false;
    int replicas_per_call = 1;
  };

  void AddSpan(int worker, const ProfileSpan& span) {
    if (span.kind != Kind::kInstruction) {
      Complete(kWorkers, worker,
               span.kind == Kind::kBarrier ? "\"wait at barrier\"" : "\"wait at rendezvous\"",
               span.begin, span.end, "{}");
      return;
    }
    const Named& instruction = instructions_[span.instruction];
    const std::string args = absl::StrCat(instruction.args, span.part, "}");
    Complete(kWorkers, worker, instruction.name, span.begin, span.end, args);
    if (!instruction.per_core) return;
    for (int replica = 0; replica < instruction.replicas_per_call; ++replica)
      Complete(kCores, span.part + replica, instruction.name, span.begin, span.end, args);
  }

  void Event(std::string_view event) {
    absl::StrAppend(&text_, first_ ? "" : ",\n", absl::string_view(event.data(), event.size()));
    first_ = false;
  }
  void NameProcess(int process, std::string_view name) {
    Event(absl::StrCat("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", process,
                       ",\"tid\":0,\"args\":{\"name\":", JsonString(name), "}}"));
    Event(absl::StrCat("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", process,
                       ",\"tid\":0,\"args\":{\"sort_index\":", process, "}}"));
  }
  void NameLane(int process, int lane, std::string_view name) {
    Event(absl::StrCat("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", process,
                       ",\"tid\":", lane, ",\"args\":{\"name\":", JsonString(name), "}}"));
  }
  // What of it lies within the steps. `name` and `args` are JSON.
  void Complete(int process, int lane, std::string_view name, int64_t begin, int64_t end,
                std::string_view args) {
    const std::vector<int64_t>& ticks = run_.step_ticks();
    if (ticks.empty()) return;
    begin = std::max(begin, ticks.front());
    end = std::min(end, ticks.back());
    if (begin > end) return;
    const double microseconds = run_.seconds_per_tick() * 1e6;
    const auto from = static_cast<double>(begin - ticks.front());
    Event(absl::StrFormat(
        "{\"ph\":\"X\",\"name\":%s,\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":%s}",
        std::string(name), process, lane, from * microseconds,
        static_cast<double>(end - begin) * microseconds, std::string(args)));
  }

  const RunProfile& run_;
  const std::vector<HostTrace::Span>& host_spans_;
  const int num_replicas_;
  std::vector<Named> instructions_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string TraceJson(const CoreProgram& program, const RunProfile& run,
                      const std::vector<HostTrace::Span>& host_spans) {
  return TraceWriter(program, run, host_spans).Write();
}

}  // namespace tpurun
