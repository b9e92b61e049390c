#include "runtime/profile/analyze.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/profile/memory_at_peak.h"

namespace tpurun {
namespace {

using Kind = ProfileSpan::Kind;

// Sums over all workers and steps, in seconds.
struct Times {
  struct OfInstruction {
    double seconds = 0;
    double critical = 0;
    double calls = 0;
    double slower = 1;  // the seconds of a call, divided by those of a recorded one
  };
  std::vector<OfInstruction> instructions;
  std::vector<proto::WorkerTime> workers;
  double critical = 0;    // the length of the critical path
  double unrecorded = 0;  // computed in steps that were not recorded, in no instruction's time
};

class Analysis {
 public:
  explicit Analysis(const AnalyzeArgs& args)
      : args_(args),
        instructions_(args.program.Instructions()),
        step_begin_(NumberIn(args.program.prologue)),
        step_end_(step_begin_ + NumberIn(args.program.step)),
        ticks_(args.run.step_ticks()),
        seconds_(args.run.seconds_per_tick()) {}

  proto::Profile Run() {
    const int64_t steps = std::max<int64_t>(1, std::ssize(ticks_) - 1);
    const double wall = ticks_.empty() ? 0 : Seconds(ticks_.front(), ticks_.back());
    profile_.set_model(args_.program.name);
    profile_.set_num_replicas(args_.program.num_replicas);
    profile_.set_num_workers(args_.run.num_workers());
    profile_.set_batch_size(args_.batch_size);
    profile_.set_steps(steps);
    profile_.set_step_seconds(wall / static_cast<double>(steps));
    profile_.set_step_seconds_median(MedianStep());
    if (wall > 0) {
      const int64_t examples = args_.examples > 0 ? args_.examples : args_.batch_size * steps;
      profile_.set_examples_per_second(static_cast<double>(examples) / wall);
    }
    *profile_.mutable_machine() = args_.machine;
    times_.instructions.resize(instructions_.size());
    AddWorkers();
    AddCriticalPath();
    AddUnrecordedSteps(static_cast<double>(steps));
    AddRows(static_cast<double>(steps), wall);
    AddInput();
    *profile_.mutable_memory() = MemoryAtPeak(args_.program, args_.run.num_workers());
    return std::move(profile_);
  }

 private:
  static size_t NumberIn(const std::vector<Phase>& phases) {
    size_t number = 0;
    for (const Phase& phase : phases) number += phase.instructions.size();
    return number;
  }
  bool InStep(size_t instruction) const {
    return instruction >= step_begin_ && instruction < step_end_;
  }

  double Seconds(int64_t begin, int64_t end) const {
    return static_cast<double>(end - begin) * seconds_;
  }
  // The seconds of a span within the steps.
  double Within(const ProfileSpan& span) const {
    return std::max(
        0.0, Seconds(std::max(span.begin, ticks_.front()), std::min(span.end, ticks_.back())));
  }

  double MedianStep() const {
    std::vector<int64_t> lengths;
    for (size_t i = 1; i < ticks_.size(); ++i) lengths.push_back(ticks_[i] - ticks_[i - 1]);
    if (lengths.empty()) return 0;
    std::nth_element(lengths.begin(), lengths.begin() + std::ssize(lengths) / 2, lengths.end());
    return Seconds(0, lengths[lengths.size() / 2]);
  }

  // All workers wait at a barrier while one of them waits for a queue or for other processes.
  void AddWorkers() {
    proto::WorkerTime waits;
    for (const ProfileSpan& wait : args_.run.waits()) {
      const double seconds = ticks_.empty() ? 0 : Within(wait);
      if (wait.kind == Kind::kInfeed) {
        waits.set_infeed_seconds(waits.infeed_seconds() + seconds);
      } else if (wait.kind == Kind::kOutfeed) {
        waits.set_outfeed_seconds(waits.outfeed_seconds() + seconds);
      } else {
        waits.set_exchange_seconds(waits.exchange_seconds() + seconds);
      }
    }
    for (int worker = 0; worker < args_.run.num_workers(); ++worker) {
      proto::WorkerTime& row = times_.workers.emplace_back(waits);
      row.set_worker(worker);
      AddWorker(args_.run.spans(worker), row);
    }
  }

  // `row` has the waits for queues and other processes.
  void AddWorker(const std::vector<ProfileSpan>& spans, proto::WorkerTime& row) {
    double busy = 0, busy_in_steps = 0, barrier = 0, exchange = 0, unrecorded = 0;
    for (const ProfileSpan& span : spans) {
      const double seconds = Within(span);
      if (span.kind == Kind::kInstruction) {
        busy += seconds;
        if (InStep(span.instruction)) busy_in_steps += seconds;
        Times::OfInstruction& times = times_.instructions[span.instruction];
        times.seconds += seconds;
        times.calls += seconds > 0 ? span.calls : 0;
      } else if (span.kind == Kind::kUnrecorded) {
        unrecorded += seconds;
      } else if (span.kind == Kind::kExchange) {
        exchange += seconds;
      } else {
        barrier += seconds;
      }
    }
    // The waits of recorded steps are in `barrier`, those of the others in `unrecorded`; but where
    // the worker slept through the end of a recorded step, either has some of the other's.
    const double unrecorded_waits = Seconds(0, args_.run.unrecorded_wait_ticks());
    const double waits = row.infeed_seconds() + row.outfeed_seconds() + row.exchange_seconds();
    const double in_barrier =
        std::clamp(waits - std::min(unrecorded, unrecorded_waits), 0.0, barrier);
    barrier -= in_barrier;
    // In the other steps the worker is busy for the same part of the time.
    const double recorded = busy_in_steps + barrier + exchange;
    const double others = std::max(0.0, unrecorded - (waits - in_barrier));
    const auto in_others = [&](double in_recorded) {
      return recorded > 0 ? others * in_recorded / recorded : 0;
    };
    row.set_busy_seconds(busy + in_others(busy_in_steps));
    // A worker that slept through the recorded steps waits in the others too.
    row.set_barrier_seconds(barrier + (recorded > 0 ? in_others(barrier) : others));
    row.set_exchange_seconds(row.exchange_seconds() + exchange + in_others(exchange));
    times_.unrecorded += in_others(busy_in_steps);
  }

  // Spans [begin, end) of a worker in one phase; it began to wait again at `arrival`.
  struct OfPhase {
    int worker = 0;
    size_t begin = 0, end = 0;
    int64_t arrival = 0;
  };

  // The worker that computes last in a phase is on the critical path since the phase before.
  void AddCriticalPath() {
    std::map<int32_t, OfPhase> last;  // [number of the phase]
    for (int worker = 0; worker < args_.run.num_workers(); ++worker) {
      const std::vector<ProfileSpan>& spans = args_.run.spans(worker);
      size_t wait = 0;
      for (size_t i = 0; i < spans.size(); ++i) {
        if (spans[i].kind != Kind::kBarrier && spans[i].kind != Kind::kUnrecorded) continue;
        OfPhase& of = last[spans[wait].instruction];
        if (i > wait + 1 && spans[i].begin > of.arrival)
          of = {.worker = worker, .begin = wait + 1, .end = i, .arrival = spans[i].begin};
        wait = i;
      }
    }
    for (const auto& [number, of] : last) {
      for (size_t i = of.begin; i < of.end; ++i) {
        const ProfileSpan& span = args_.run.spans(of.worker)[i];
        const double seconds = Within(span);
        if (span.kind != Kind::kInstruction) continue;
        times_.instructions[span.instruction].critical += seconds;
        times_.critical += seconds;
      }
    }
  }

  // The instructions of the steps that were not recorded take the same shares of the time.
  void AddUnrecordedSteps(double steps) {
    double seconds = 0;
    for (size_t i = step_begin_; i < step_end_; ++i) seconds += times_.instructions[i].seconds;
    if (seconds == 0 || times_.unrecorded == 0) return;
    const double more = times_.unrecorded / seconds;
    const double more_calls = steps / static_cast<double>(args_.run.recorded_steps());
    for (size_t i = step_begin_; i < step_end_; ++i) {
      Times::OfInstruction& times = times_.instructions[i];
      times.seconds *= 1 + more;
      times_.critical += times.critical * more;
      times.critical *= 1 + more;
      times.calls *= more_calls;
      times.slower = (1 + more) / more_calls;
    }
  }

  // The shortest time of all calls of an instruction in a step, on one worker.
  double MachineSeconds(const Instruction& instruction, const Cost& cost) const {
    const proto::MachinePeaks& machine = args_.machine;
    const bool bf16 = instruction.plan.kernel->multiplies_bf16;
    const double peak = bf16 && machine.bf16_gflops() > 0 && cost.matrix_flops > 0
                            ? machine.bf16_gflops()
                            : machine.f32_gflops();
    if (peak == 0 || machine.memory_gbytes() == 0) return 0;
    const double seconds =
        std::max(cost.flops() / peak, cost.bytes() / machine.memory_gbytes()) * 1e-9;
    return seconds * args_.run.num_workers();
  }

  // Rates and roofs are those of recorded calls.
  struct Sum {
    proto::ProfileRow row;
    double recorded_seconds = 0;                  // of the row's calls, if all were like them
    double roof_seconds = 0, roofed_seconds = 0;  // alone, and of the same calls in the run
    double machine_seconds = 0;

    void Add(const Sum& other, double share) {
      row.set_calls(row.calls() + other.row.calls() * share);
      row.set_seconds(row.seconds() + other.row.seconds() * share);
      row.set_matrix_flops(row.matrix_flops() + other.row.matrix_flops() * share);
      row.set_vector_flops(row.vector_flops() + other.row.vector_flops() * share);
      row.set_transcendentals(row.transcendentals() + other.row.transcendentals() * share);
      row.set_bytes_read(row.bytes_read() + other.row.bytes_read() * share);
      row.set_bytes_written(row.bytes_written() + other.row.bytes_written() * share);
      row.set_critical_seconds(row.critical_seconds() + other.row.critical_seconds() * share);
      recorded_seconds += other.recorded_seconds * share;
      roof_seconds += other.roof_seconds * share;
      roofed_seconds += other.roofed_seconds * share;
      machine_seconds += other.machine_seconds * share;
    }
  };

  Sum SumOf(size_t number, double steps) const {
    const Instruction& instruction = *instructions_[number];
    const Times::OfInstruction& times = times_.instructions[number];
    Sum sum;
    sum.row.set_name(instruction.name);
    sum.row.set_op(instruction.op->name);
    for (const NodeOrigin& origin : instruction.origins)
      sum.row.add_from(absl::StrCat(origin.layer, ":", PhaseName(origin.phase)));
    sum.row.set_kernel(instruction.plan.name());
    sum.row.set_library_kernel(instruction.plan.library_kernel);
    sum.row.set_calls(times.calls / steps);
    sum.row.set_seconds(times.seconds / steps);
    sum.recorded_seconds = sum.row.seconds() / times.slower;
    sum.row.set_critical_seconds(times.critical / steps);
    // Of the calls that were made: a periodic instruction makes less than one a step.
    const double parts = static_cast<double>(instruction.parts) / instruction.replicas_per_call;
    const Cost cost =
        CostOfInstruction(instruction, args_.program.num_replicas) * (sum.row.calls() / parts);
    sum.row.set_matrix_flops(cost.matrix_flops);
    sum.row.set_vector_flops(cost.vector_flops);
    sum.row.set_transcendentals(cost.transcendentals);
    sum.row.set_bytes_read(cost.bytes_read);
    sum.row.set_bytes_written(cost.bytes_written);
    if (number < args_.alone.size() && args_.alone[number] > 0) {
      sum.roof_seconds = args_.alone[number] * sum.row.calls();
      sum.roofed_seconds = sum.recorded_seconds;
    }
    sum.machine_seconds = MachineSeconds(instruction, cost);
    return sum;
  }

  void AddRows(double steps, double wall) {
    const double all = wall / steps * args_.run.num_workers();
    std::vector<Sum> by_instruction;
    std::map<std::string, Sum> by_op;
    std::map<NodeOrigin, Sum> by_layer;
    double accounted = 0;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (times_.instructions[i].calls == 0) continue;
      const Sum& sum = by_instruction.emplace_back(SumOf(i, steps));
      by_op[sum.row.op()].Add(sum, 1);
      const Origins& origins = instructions_[i]->origins;
      for (const NodeOrigin& origin : origins)
        by_layer[origin].Add(sum, 1.0 / static_cast<double>(origins.size()));
      if (origins.empty()) by_layer[{}].Add(sum, 1);
      accounted += sum.row.seconds();
    }
    std::vector<Sum> layers, ops;
    for (auto& [origin, sum] : by_layer) {
      sum.row.set_name(origin.layer);
      sum.row.set_phase(PhaseName(origin.phase));
      layers.push_back(std::move(sum));
    }
    for (auto& [op, sum] : by_op) {
      sum.row.set_name(op);
      ops.push_back(std::move(sum));
    }
    WriteRows(std::move(layers), all, *profile_.mutable_layer());
    WriteRows(std::move(ops), all, *profile_.mutable_op());
    WriteRows(std::move(by_instruction), all, *profile_.mutable_instruction());
    for (proto::WorkerTime& row : times_.workers) {
      row.set_busy_seconds(row.busy_seconds() / steps);
      row.set_barrier_seconds(row.barrier_seconds() / steps);
      row.set_infeed_seconds(row.infeed_seconds() / steps);
      row.set_outfeed_seconds(row.outfeed_seconds() / steps);
      row.set_exchange_seconds(row.exchange_seconds() / steps);
      accounted += row.barrier_seconds() + row.infeed_seconds() + row.outfeed_seconds() +
                   row.exchange_seconds();
      *profile_.add_worker() = row;
    }
    profile_.set_critical_path_seconds(times_.critical / steps);
    if (all > 0) profile_.set_accounted_share(accounted / all);
  }

  static void WriteRows(std::vector<Sum> sums, double all,
                        google::protobuf::RepeatedPtrField<proto::ProfileRow>& rows) {
    std::stable_sort(sums.begin(), sums.end(),
                     [](const Sum& a, const Sum& b) { return a.row.seconds() > b.row.seconds(); });
    for (Sum& sum : sums) {
      proto::ProfileRow& row = sum.row;
      if (row.seconds() > 0) {
        const double flops = row.matrix_flops() + row.vector_flops() + row.transcendentals();
        row.set_share(all > 0 ? row.seconds() / all : 0);
        row.set_gflops_per_second(flops / sum.recorded_seconds * 1e-9);
        row.set_gbytes_per_second((row.bytes_read() + row.bytes_written()) / sum.recorded_seconds *
                                  1e-9);
        row.set_machine_roof(sum.machine_seconds / sum.recorded_seconds);
      }
      if (sum.roofed_seconds > 0) row.set_kernel_roof(sum.roof_seconds / sum.roofed_seconds);
      *rows.Add() = std::move(row);
    }
  }

  void AddInput() {
    // More rows have left the first stages than the last: those that fill shuffles and caches.
    double of_row = 0, longest = 0;
    for (const InputTimes::Stage& stage : args_.input) {
      if (stage.rows > 0) of_row += stage.seconds / static_cast<double>(stage.rows);
      longest = std::max(longest, stage.seconds);
    }
    for (const InputTimes::Stage& stage : args_.input) {
      proto::InputStage& row = *profile_.add_input();
      row.set_name(stage.name);
      row.set_rows(stage.rows);
      row.set_seconds(stage.seconds);
      if (stage.seconds > 0)
        row.set_rows_per_second(static_cast<double>(stage.rows) / stage.seconds);
      row.set_limit(stage.seconds == longest && longest > 0);
    }
    if (of_row > 0) profile_.set_input_rows_per_second(1 / of_row);
  }

  const AnalyzeArgs& args_;
  const std::vector<const Instruction*> instructions_;
  const size_t step_begin_, step_end_;  // of the instructions of CoreProgram::step
  const std::vector<int64_t>& ticks_;
  const double seconds_;  // of a tick
  Times times_;
  proto::Profile profile_;
};

}  // namespace

proto::Profile Analyze(const AnalyzeArgs& args) { return Analysis(args).Run(); }

}  // namespace tpurun
