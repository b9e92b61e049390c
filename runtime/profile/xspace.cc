#include "runtime/profile/xspace.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tpurun {
namespace {

namespace xplane = tensorflow::profiler;

using Kind = ProfileSpan::Kind;

// Ids of the lines of a device.
enum DeviceLine { kStepsLine = 1, kModulesLine = 2, kOpsLine = 3 };

// "conv2d_backprop" as TensorFlow spells a kind of op: "Conv2dBackprop".
std::string CamelCase(std::string_view name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      text += upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
      upper = false;
    }
  }
  return text;
}

// The scope, name and kind of an instruction: "block/conv2d/backward/conv2d.3:Conv2d".
std::string TfOp(const Instruction& instruction) {
  std::string scope;
  if (!instruction.origins.empty()) {
    const NodeOrigin& origin = instruction.origins.front();
    scope = absl::StrCat(origin.layer, "/", PhaseName(origin.phase), "/");
  }
  return absl::StrCat(scope, instruction.name, ":", CamelCase(instruction.op->name));
}

class Plane {
 public:
  explicit Plane(xplane::XPlane* plane) : plane_(plane) {}

  void Set(std::string_view stat, double value) {
    Stat(stat, *plane_->mutable_stats()).set_double_value(value);
  }
  void Set(std::string_view stat, const std::string& value) {
    Stat(stat, *plane_->mutable_stats()).set_str_value(value);
  }
  void SetCount(std::string_view stat, uint64_t value) {
    Stat(stat, *plane_->mutable_stats()).set_uint64_value(value);
  }

  xplane::XLine& Line(int64_t id, const std::string& name, int64_t timestamp_ns) {
    xplane::XLine& line = *plane_->add_lines();
    line.set_id(id);
    line.set_name(name);
    line.set_timestamp_ns(timestamp_ns);
    return line;
  }

  // The metadata of the events of a name.
  xplane::XEventMetadata& Events(const std::string& name) {
    const int64_t id = static_cast<int64_t>(plane_->event_metadata_size()) + 1;
    xplane::XEventMetadata& metadata = (*plane_->mutable_event_metadata())[id];
    metadata.set_id(id);
    metadata.set_name(name);
    return metadata;
  }

  xplane::XStat& Stat(std::string_view name,
                      google::protobuf::RepeatedPtrField<xplane::XStat>& stats) {
    const auto [found, added] =
        stats_.try_emplace(std::string(name), static_cast<int64_t>(stats_.size()) + 1);
    if (added) {
      xplane::XStatMetadata& metadata = (*plane_->mutable_stat_metadata())[found->second];
      metadata.set_id(found->second);
      metadata.set_name(found->first);
    }
    xplane::XStat& stat = *stats.Add();
    stat.set_metadata_id(found->second);
    return stat;
  }

 private:
  xplane::XPlane* const plane_;
  std::map<std::string, int64_t> stats_;
};

class XSpaceMaker {
 public:
  explicit XSpaceMaker(const XSpaceArgs& args)
      : args_(args), instructions_(args.program.Instructions()) {
    if (!args.loops.empty()) begin_ns_ = args.loops.front().run->StepNanoseconds(0);
  }

  xplane::XSpace Make() {
    space_.add_hostnames(args_.host);
    for (int core = 0; core < args_.program.num_replicas; ++core) AddDevice(core);
    AddHost();
    return std::move(space_);
  }

 private:
  // Ids of metadata of a plane.
  struct Ids {
    std::vector<int64_t> instructions;
    int64_t infeed = 0, outfeed = 0, exchange = 0;
  };

  Plane AddPlane(const std::string& name) {
    xplane::XPlane* const plane = space_.add_planes();
    plane->set_id(space_.planes_size());
    plane->set_name(name);
    return Plane(plane);
  }

  // The events of instructions, as XLA describes its ops.
  Ids AddInstructions(Plane& plane) const {
    Ids ids;
    for (const Instruction* instruction : instructions_) {
      const auto number = static_cast<int64_t>(ids.instructions.size()) + 1;
      xplane::XEventMetadata& metadata = plane.Events(instruction->name);
      metadata.set_display_name(instruction->name);
      auto& stats = *metadata.mutable_stats();
      plane.Stat("hlo_category", stats).set_str_value(instruction->op->name);
      plane.Stat("tf_op", stats).set_str_value(TfOp(*instruction));
      // Of one part: a call of several replicas is an event on each of their cores.
      const Cost cost =
          CostOfInstruction(*instruction, args_.program.num_replicas) * (1.0 / instruction->parts);
      plane.Stat("flops", stats).set_uint64_value(static_cast<uint64_t>(cost.flops()));
      plane.Stat("bytes_accessed", stats).set_uint64_value(static_cast<uint64_t>(cost.bytes()));
      plane.Stat("program_id", stats).set_uint64_value(1);
      plane.Stat("symbol_id", stats).set_uint64_value(static_cast<uint64_t>(number));
      plane.Stat("kernel_details", stats)
          .set_str_value(
              absl::StrCat(instruction->plan.name(), " ", instruction->plan.library_kernel));
      ids.instructions.push_back(metadata.id());
    }
    ids.infeed = AddQueue(plane, "infeed", instructions_.size() + 1);
    ids.outfeed = AddQueue(plane, "outfeed", instructions_.size() + 2);
    ids.exchange = AddQueue(plane, "all-reduce", instructions_.size() + 3);
    return ids;
  }

  // The waits for a queue. XLA's programs have ops of these categories.
  static int64_t AddQueue(Plane& plane, const std::string& name, uint64_t number) {
    xplane::XEventMetadata& metadata = plane.Events(name);
    metadata.set_display_name(name);
    auto& stats = *metadata.mutable_stats();
    plane.Stat("hlo_category", stats).set_str_value(name);
    plane.Stat("program_id", stats).set_uint64_value(1);
    plane.Stat("symbol_id", stats).set_uint64_value(number);
    return metadata.id();
  }

  // Adds an event that begins and ends at ticks of the clock of `run`.
  xplane::XEvent& Append(const RunProfile& run, int64_t begin, int64_t end, int64_t metadata,
                         xplane::XLine& line) const {
    const double picoseconds = run.seconds_per_tick() * 1e12;
    const int64_t from = (run.StepNanoseconds(0) - begin_ns_) * 1000;
    xplane::XEvent& event = *line.add_events();
    event.set_metadata_id(metadata);
    event.set_offset_ps(
        from +
        static_cast<int64_t>(static_cast<double>(begin - run.step_ticks().front()) * picoseconds));
    event.set_duration_ps(static_cast<int64_t>(static_cast<double>(end - begin) * picoseconds));
    return event;
  }

  // Adds what of a span lies within the steps. nullptr if nothing does.
  xplane::XEvent* AddEvent(const RunProfile& run, int64_t begin, int64_t end, int64_t metadata,
                           xplane::XLine& line) const {
    begin = std::max(begin, run.step_ticks().front());
    end = std::min(end, run.step_ticks().back());
    return begin < end ? &Append(run, begin, end, metadata, line) : nullptr;
  }

  void AddDevice(int core) {
    Plane plane = AddPlane(absl::StrCat("/device:TPU:", core));
    plane.Set("device_type_string", std::string("emulated TPU core"));
    plane.SetCount("core_count", 1);
    const double cores = args_.program.num_replicas;
    plane.Set("peak_teraflops_per_second",
              std::max(args_.peaks.f32_gflops(), args_.peaks.bf16_gflops()) * 1e-3 / cores);
    plane.Set("peak_hbm_bw_gigabytes_per_second", args_.peaks.memory_gbytes() / cores);
    const Ids ids = AddInstructions(plane);
    const int64_t module = plane.Events(args_.program.name).id();
    // One line after the other: adding a line may move those before.
    AddSteps(plane, plane.Line(kStepsLine, "Steps", begin_ns_), 0);
    AddSteps(plane, plane.Line(kModulesLine, "XLA Modules", begin_ns_), module);
    AddOps(core, ids, plane.Line(kOpsLine, "XLA Ops", begin_ns_), plane);
  }

  // An event for each step, named by its number, or of the metadata `module`.
  void AddSteps(Plane& plane, xplane::XLine& line, int64_t module) const {
    for (const ProfiledLoop& loop : args_.loops) {
      const std::vector<int64_t>& ticks = loop.run->step_ticks();
      for (size_t i = 1; i < ticks.size(); ++i) {
        const int64_t step = loop.first_step + static_cast<int64_t>(i) - 1;
        const int64_t metadata = module != 0 ? module : plane.Events(absl::StrCat(step)).id();
        xplane::XEvent* const event = AddEvent(*loop.run, ticks[i - 1], ticks[i], metadata, line);
        if (event != nullptr) SetStep(plane, step, *event);
      }
    }
  }

  static void SetStep(Plane& plane, int64_t step, xplane::XEvent& event) {
    plane.Stat("group_id", *event.mutable_stats()).set_int64_value(step);
  }

  // The calls of a span. A call with the rows of several cores is divided among them.
  std::vector<ProfileSpan> CallsOf(const ProfileSpan& span) const {
    const Instruction& instruction = *instructions_[span.instruction];
    ProfileSpan all = span;
    if (instruction.joins_rows)
      all.calls = static_cast<int8_t>(span.calls * instruction.replicas_per_call);
    std::vector<ProfileSpan> calls;
    for (int i = 0; i < all.calls; ++i)
      calls.push_back(CallOfSpan(all, i, CoresOfCall(instruction)));
    return calls;
  }

  static int CoresOfCall(const Instruction& instruction) {
    return instruction.joins_rows ? 1 : instruction.replicas_per_call;
  }

  // Whether the call belongs to the core, or, if all cores share it, to the core's share.
  bool BelongsTo(const ProfileSpan& span, int core) const {
    const Instruction& instruction = *instructions_[span.instruction];
    if (instruction.per_core)
      return core >= span.part && core < span.part + CoresOfCall(instruction);
    const int own = (span.part - instruction.first_part) / instruction.part_step;
    return own * args_.program.num_replicas / instruction.parts == core;
  }

  void AddOps(int core, const Ids& ids, xplane::XLine& line, Plane& plane) const {
    for (const ProfiledLoop& loop : args_.loops) {
      const RunProfile& run = *loop.run;
      std::vector<std::pair<ProfileSpan, int64_t>> spans;  // with the ids of their metadata
      for (int worker = 0; worker < run.num_workers(); ++worker) {
        for (const ProfileSpan& span : run.spans(worker)) {
          if (span.kind == Kind::kExchange) spans.emplace_back(span, ids.exchange);
          if (span.kind != Kind::kInstruction) continue;
          for (const ProfileSpan& call : CallsOf(span)) {
            if (BelongsTo(call, core)) spans.emplace_back(call, ids.instructions[span.instruction]);
          }
        }
      }
      for (const ProfileSpan& span : run.waits())
        spans.emplace_back(span, span.kind == Kind::kInfeed    ? ids.infeed
                                 : span.kind == Kind::kOutfeed ? ids.outfeed
                                                               : ids.exchange);
      std::sort(spans.begin(), spans.end(),
                [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
      const std::vector<int64_t>& ticks = run.step_ticks();
      size_t step = 0;
      for (const auto& [span, metadata] : spans) {
        while (step + 2 < ticks.size() && span.begin >= ticks[step + 1]) ++step;
        xplane::XEvent* const event = AddEvent(run, span.begin, span.end, metadata, line);
        if (event != nullptr) SetStep(plane, loop.first_step + static_cast<int64_t>(step), *event);
      }
    }
  }

  void AddHost() {
    Plane plane = AddPlane("/host:CPU");
    std::vector<int64_t> names;
    for (const Instruction* instruction : instructions_)
      names.push_back(plane.Events(instruction->name).id());
    const int64_t barrier = plane.Events("wait at barrier").id();
    const int64_t rendezvous = plane.Events("wait at rendezvous").id();
    const int64_t unrecorded = plane.Events("not recorded").id();
    const int64_t exchange = plane.Events("exchange").id();
    const int workers = args_.loops.empty() ? 0 : args_.loops.front().run->num_workers();
    for (int worker = 0; worker < workers; ++worker) {
      xplane::XLine& line = plane.Line(worker + 1, absl::StrCat("worker ", worker), begin_ns_);
      for (const ProfiledLoop& loop : args_.loops) {
        for (const ProfileSpan& span : loop.run->spans(worker)) {
          const int64_t metadata = span.kind == Kind::kInstruction  ? names[span.instruction]
                                   : span.kind == Kind::kBarrier    ? barrier
                                   : span.kind == Kind::kUnrecorded ? unrecorded
                                   : span.kind == Kind::kExchange   ? exchange
                                                                    : rendezvous;
          AddEvent(*loop.run, span.begin, span.end, metadata, line);
        }
      }
    }
    if (!args_.loops.empty()) AddHostSpans(workers, plane);
  }

  // A line for each lane, after those of the workers.
  void AddHostSpans(int workers, Plane& plane) const {
    const RunProfile& first = *args_.loops.front().run;
    const RunProfile& last = *args_.loops.back().run;
    std::map<HostTrace::Lane, std::vector<const HostTrace::Span*>> lanes;
    for (const HostTrace::Span& span : args_.host_spans) {
      const bool within =
          span.end > first.step_ticks().front() && span.begin < last.step_ticks().back();
      if (within) lanes[span.lane].push_back(&span);
    }
    for (const auto& [lane, spans] : lanes) {
      xplane::XLine& line = plane.Line(++workers, LaneName(lane), begin_ns_);
      for (const HostTrace::Span* span : spans) {
        const int64_t begin = std::max(span->begin, first.step_ticks().front());
        Append(first, begin, span->end, plane.Events(span->name).id(), line);
      }
    }
  }

  const XSpaceArgs& args_;
  const std::vector<const Instruction*> instructions_;
  int64_t begin_ns_ = 0;  // since 1970: the begin of the first step
  xplane::XSpace space_;
};

}  // namespace

xplane::XSpace MakeXSpace(const XSpaceArgs& args) { return XSpaceMaker(args).Make(); }

}  // namespace tpurun
