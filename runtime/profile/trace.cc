#include "runtime/profile/trace.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

using Kind = ProfileSpan::Kind;

enum Process { kWorkers = 1, kCores = 2, kHost = 3 };
enum HostLane { kStepsLane = 0, kWaitsLane = 1, kHostLanes = 2 };
constexpr HostTrace::Lane kLanesOfHost[] = {HostTrace::Lane::kInfeed, HostTrace::Lane::kOutfeed,
                                            HostTrace::Lane::kCheckpoint};

class ProfiledStepsTrace {
 public:
  ProfiledStepsTrace(const CoreProgram& program, const RunProfile& run,
                     const std::vector<HostTrace::Span>& host_spans, TraceEvents& events)
      : run_(run), host_spans_(host_spans), num_replicas_(program.num_replicas), events_(events) {
    for (const Instruction* instruction : program.Instructions()) {
      const bool named = !instruction->name.empty();
      instructions_.push_back(
          {TraceString(named ? instruction->name : instruction->op->name),
           absl::StrCat("{\"op\":", TraceString(instruction->op->name),
                        ",\"from\":", TraceString(Describe(instruction->origins)),
                        ",\"kernel\":", TraceString(instruction->plan.name()), ",\"part\":"),
           instruction->per_core, instruction->replicas_per_call});
    }
  }

  void Write() {
    events_.NameProcess(kWorkers, "workers");
    for (int worker = 0; worker < run_.num_workers(); ++worker)
      events_.NameLane(kWorkers, worker, absl::StrCat("worker ", worker));
    events_.NameProcess(kCores, "emulated cores");
    for (int core = 0; core < num_replicas_; ++core)
      events_.NameLane(kCores, core, absl::StrCat("core ", core));
    events_.NameProcess(kHost, "host");
    events_.NameLane(kHost, kStepsLane, "steps");
    events_.NameLane(kHost, kWaitsLane, "waits of the device");
    for (const HostTrace::Lane lane : kLanesOfHost)
      events_.NameLane(kHost, LaneOf(lane), LaneName(lane));
    const std::vector<int64_t>& ticks = run_.step_ticks();
    for (size_t step = 1; step < ticks.size(); ++step)
      Complete(kHost, kStepsLane, TraceString(absl::StrCat("step ", step)), ticks[step - 1],
               ticks[step], "{}");
    for (const ProfileSpan& wait : run_.waits()) {
      const char* const name = wait.kind == Kind::kInfeed    ? "\"wait for infeed\""
                               : wait.kind == Kind::kOutfeed ? "\"wait for outfeed\""
                                                             : "\"exchange\"";
      Complete(kHost, kWaitsLane, name, wait.begin, wait.end, "{}");
    }
    for (const HostTrace::Span& span : host_spans_) {
      if (ticks.empty() || span.end <= ticks.front() || span.begin >= ticks.back()) continue;
      Complete(kHost, LaneOf(span.lane), TraceString(span.name), span.begin, span.end, "{}");
    }
    for (int worker = 0; worker < run_.num_workers(); ++worker) {
      for (const ProfileSpan& span : run_.spans(worker)) AddSpan(worker, span);
    }
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
               span.kind == Kind::kBarrier      ? "\"wait at barrier\""
               : span.kind == Kind::kUnrecorded ? "\"not recorded\""
               : span.kind == Kind::kExchange   ? "\"exchange\""
                                                : "\"wait at rendezvous\"",
               span.begin, span.end, "{}");
      return;
    }
    const int replicas_per_call = instructions_[span.instruction].replicas_per_call;
    for (int call = 0; call < span.calls; ++call)
      AddCall(worker, CallOfSpan(span, call, replicas_per_call));
  }

  void AddCall(int worker, const ProfileSpan& call) {
    const Named& instruction = instructions_[call.instruction];
    const std::string args = absl::StrCat(instruction.args, call.part, "}");
    Complete(kWorkers, worker, instruction.name, call.begin, call.end, args);
    if (!instruction.per_core) return;
    for (int replica = 0; replica < instruction.replicas_per_call; ++replica)
      Complete(kCores, call.part + replica, instruction.name, call.begin, call.end, args);
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
    events_.AddSpan(process, lane, name, from * microseconds,
                    static_cast<double>(end - ticks.front()) * microseconds, args);
  }

  const RunProfile& run_;
  const std::vector<HostTrace::Span>& host_spans_;
  const int num_replicas_;
  std::vector<Named> instructions_;
  TraceEvents& events_;
};

}  // namespace

void AddProfiledSteps(const CoreProgram& program, const RunProfile& run,
                      const std::vector<HostTrace::Span>& host_spans, TraceEvents& events) {
  ProfiledStepsTrace(program, run, host_spans, events).Write();
}

}  // namespace tpurun
