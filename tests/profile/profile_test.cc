// What a run records, and the profile and the trace that are made of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"
#include "runtime/compiler/compile.h"
#include "runtime/device/device.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/profile/analyze.h"
#include "runtime/profile/machine_peaks.h"
#include "runtime/profile/memory_at_peak.h"
#include "runtime/profile/time_unit.h"
#include "runtime/profile/trace.h"

namespace tpurun {
namespace {

constexpr int kReplicas = 4, kWorkers = 2;
constexpr int64_t kSteps = 20, kRows = 64, kWidth = 32;

using Phase = NodeOrigin::Phase;

// w += 0.5 sum over the cores of x' relu(x w), in the layers "a", "b" and "c".
Graph Step() {
  GraphBuilder b(Graph("step", kReplicas));
  b.set_origins({{"a", Phase::kForward}});
  const Value x = b.AddInfeed("x", {DType::kF32, {kRows, kWidth}});
  const int w = b.AddVariable({.name = "w", .shape = {DType::kF32, {kWidth, kWidth}}});
  const Value y = MatMul(b, x, b.Read(w), Precision::kF32);
  b.set_origins({{"b", Phase::kForward}});
  const Value z = Relu(b, y);
  b.set_origins({{"b", Phase::kBackward}});
  const Value gradient = MatMul(b, x, z, Precision::kF32, true);
  b.set_origins({{"c", Phase::kUpdate}});
  const Value sum = CrossReplicaSum(b, gradient);
  b.Update(w, Add(b, b.Read(w), Mul(b, sum, Scalar(b, 0.5))));
  EXPECT_TRUE(b.status().ok()) << b.status();
  return b.Take();
}

struct Ran {
  CoreProgram program;
  std::unique_ptr<RunProfile> profile;
  std::vector<float> w;  // after the run
  std::vector<double> alone;
};

Ran RunSteps(bool profiles, int64_t steps = kSteps, int64_t first_index = 0,
             ProfileDetail detail = ProfileDetail::kEveryStep) {
  const absl::StatusOr<CoreProgram> program = Compile(Step(), {.ops = OpsOfPasses()});
  EXPECT_TRUE(program.ok()) << program.status();
  Ran ran{.program = *program, .w = std::vector<float>(kWidth * kWidth, 0.25f)};
  const auto device = Device::Create(kWorkers);
  const auto loaded = device->Load(ran.program, {ran.w.data()});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  const int64_t bytes = LayoutOf(program->infeed, kReplicas).bytes;
  EntryRing infeed(bytes, kSteps, 1);
  for (int64_t step = 0; step < kSteps; ++step) {
    const absl::StatusOr<std::byte*> entry = infeed.Reserve();
    EXPECT_TRUE(entry.ok());
    std::fill_n(reinterpret_cast<float*>(*entry), bytes / sizeof(float), 0.001f);
    infeed.Commit();
  }
  if (profiles)
    ran.profile = std::make_unique<RunProfile>(ran.program, kWorkers, steps, first_index, detail);
  const RunResult result = device->Run(
      **loaded, {.iterations = kSteps, .profile = ran.profile.get(), .infeed = &infeed});
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.steps, kSteps);
  const std::vector<float> after = ran.w;
  for (size_t i = 0; profiles && i < ran.program.Instructions().size(); ++i) {
    const Instruction& instruction = *ran.program.Instructions()[i];
    ran.alone.push_back(0);
    if (CostOfInstruction(instruction, kReplicas).matrix_flops == 0) continue;
    const absl::StatusOr<double> seconds = device->TimeAlone(**loaded, static_cast<int>(i));
    EXPECT_TRUE(seconds.ok()) << seconds.status();
    EXPECT_GT(*seconds, 0);
    ran.alone.back() = *seconds;
  }
  EXPECT_EQ(ran.w, after);  // a call alone writes no variable
  return ran;
}

TEST(RunProfileTest, ChangesNoBit) { EXPECT_EQ(RunSteps(true).w, RunSteps(false).w); }

TEST(RunProfileTest, HasEverySpanOfEveryStep) {
  const Ran ran = RunSteps(true);
  EXPECT_TRUE(ran.profile->complete());
  ASSERT_EQ(std::ssize(ran.profile->step_ticks()), kSteps + 1);
  EXPECT_TRUE(std::is_sorted(ran.profile->step_ticks().begin(), ran.profile->step_ticks().end()));
  std::vector<int> calls(ran.program.Instructions().size(), 0);
  for (int worker = 0; worker < kWorkers; ++worker) {
    int64_t end = 0;
    for (const ProfileSpan& span : ran.profile->spans(worker)) {
      EXPECT_LE(end, span.begin);
      EXPECT_LE(span.begin, span.end);
      end = span.end;
      if (span.kind == ProfileSpan::Kind::kInstruction) ++calls[span.instruction];
    }
  }
  size_t number = ran.program.prologue.empty() ? 0 : ran.program.prologue[0].instructions.size();
  for (const tpurun::Phase& phase : ran.program.step) {
    for (const Instruction& instruction : phase.instructions)
      EXPECT_EQ(calls[number++], kSteps * instruction.parts) << Describe(instruction);
  }
}

TEST(RunProfileTest, RecordsOnlyItsSteps) {
  const Ran all = RunSteps(true);
  const Ran some = RunSteps(true, 2, 3);
  EXPECT_TRUE(some.profile->complete());
  const std::vector<int64_t>& ticks = some.profile->step_ticks();
  ASSERT_EQ(ticks.size(), 3);
  EXPECT_LT(some.profile->StepNanoseconds(0), some.profile->StepNanoseconds(2));
  EXPECT_EQ(some.w, all.w);
  std::vector<int> calls(some.program.Instructions().size(), 0);
  for (int worker = 0; worker < kWorkers; ++worker) {
    for (const ProfileSpan& span : some.profile->spans(worker)) {
      EXPECT_GT(span.end, ticks.front());
      EXPECT_LT(span.begin, ticks.back());
      if (span.kind == ProfileSpan::Kind::kInstruction) ++calls[span.instruction];
    }
  }
  size_t number = some.program.prologue.empty() ? 0 : some.program.prologue[0].instructions.size();
  for (const tpurun::Phase& phase : some.program.step) {
    for (const Instruction& instruction : phase.instructions)
      EXPECT_EQ(calls[number++], 2 * instruction.parts) << Describe(instruction);
  }
}

TEST(RunProfileTest, WithoutMemoryItIsNotComplete) {
  const Ran ran = RunSteps(true);
  RunProfile small(ran.program, kWorkers, 1);
  small.AddStepTick(0, Ticks());
  for (int i = 0; i < 1000; ++i) small.EndSpan(0, ProfileSpan::Kind::kBarrier);
  EXPECT_FALSE(small.complete());
}

// Steps of `ticks` ticks for each call and each wait of a worker. Returns the steps that are
// recorded.
std::vector<int64_t> RecordedSteps(int64_t ticks, int64_t steps) {
  const Ran ran = RunSteps(false);
  int64_t calls = 0;
  for (const tpurun::Phase& phase : ran.program.step) {
    for (const Instruction& instruction : phase.instructions) calls += instruction.parts;
  }
  ticks *= (calls + kWorkers - 1) / kWorkers + std::ssize(ran.program.step);
  RunProfile run(ran.program, kWorkers, steps, 0, ProfileDetail::kSomeSteps);
  std::vector<int64_t> recorded;
  run.Begin();
  run.AddStepTick(0, 0);
  for (int64_t step = 0; step < steps; ++step) {
    if (run.records()) recorded.push_back(step);
    run.AddStepTick(step + 1, (step + 1) * ticks);
  }
  EXPECT_EQ(run.recorded_steps(), std::ssize(recorded));
  return recorded;
}

TEST(RunProfileTest, OfShortStepsOnlySomeAreRecorded) {
  // The 250 ticks of a span are 5 % of 5000, ten times the share that they may have.
  EXPECT_EQ(RecordedSteps(5000, 100),
            (std::vector<int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
  // 0.75 % of 33500, 0.5 % of 50000.
  EXPECT_EQ(RecordedSteps(33500, 20), (std::vector<int64_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
  EXPECT_EQ(RecordedSteps(50000, 3), (std::vector<int64_t>{0, 1, 2}));
  // 10 steps are recorded at least.
  EXPECT_EQ(RecordedSteps(60, 20), (std::vector<int64_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
}

TEST(RunProfileTest, OfSomeStepsTheCallsAreThoseOfAll) {
  const Ran ran = RunSteps(true, kSteps, 0, ProfileDetail::kSomeSteps);
  const proto::Profile profile =
      Analyze({.program = ran.program, .run = *ran.profile, .batch_size = kReplicas * kRows});
  std::map<std::string, double> want;
  for (const tpurun::Phase& phase : ran.program.step) {
    for (const Instruction& instruction : phase.instructions)
      want[instruction.name] += instruction.parts;
  }
  for (const proto::ProfileRow& row : profile.instruction()) {
    if (want.count(row.name()) == 0) continue;  // the last ones of the prologue
    EXPECT_NEAR(row.calls(), want[row.name()], 1e-9) << row.name();
    want.erase(row.name());
  }
  EXPECT_TRUE(want.empty());
  EXPECT_NEAR(profile.accounted_share(), 1, 1e-9);
}

// The first step is so short that the second one is not recorded, the third one is.
TEST(AnalyzeTest, UnrecordedStepsAreLikeTheOthers) {
  const Ran ran = RunSteps(false);
  RunProfile run(ran.program, kWorkers, 20, 0, ProfileDetail::kSomeSteps);
  int first = 0;
  for (const tpurun::Phase& phase : ran.program.prologue)
    first += static_cast<int>(phase.instructions.size());
  const auto sleep = [](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return Ticks();
  };
  const auto compute = [&](int instruction, int milliseconds) {
    sleep(milliseconds);
    run.EndSpan(0, ProfileSpan::Kind::kInstruction, instruction, 0);
  };
  run.Begin();
  const int64_t begin = Ticks();
  run.AddStepTick(0, begin);
  run.AddStepTick(1, begin + 1);
  ASSERT_FALSE(run.records());
  run.EndWait(0, 1);
  const int64_t before = Ticks(), after = sleep(3);
  run.AddWait({.begin = before, .end = after, .kind = ProfileSpan::Kind::kInfeed});
  run.AddStepTick(2, sleep(6));
  ASSERT_TRUE(run.records());
  run.EndWait(0, 2);
  compute(first, 2);
  compute(first + 1, 4);
  run.EndWait(0, 3);
  sleep(3);
  run.EndWait(0, 4);
  run.AddStepTick(3, run.spans(0).back().end);
  run.End();
  EXPECT_EQ(run.recorded_steps(), 2);
  std::vector<ProfileSpan::Kind> kinds;
  for (const ProfileSpan& span : run.spans(0)) kinds.push_back(span.kind);
  EXPECT_EQ(kinds, (std::vector<ProfileSpan::Kind>{
                       ProfileSpan::Kind::kBarrier, ProfileSpan::Kind::kUnrecorded,
                       ProfileSpan::Kind::kBarrier, ProfileSpan::Kind::kInstruction,
                       ProfileSpan::Kind::kInstruction, ProfileSpan::Kind::kBarrier,
                       ProfileSpan::Kind::kBarrier}));
  const std::vector<double> alone(first + 2, 1e-3);
  const proto::Profile profile = Analyze({.program = ran.program, .run = run, .alone = alone});
  ASSERT_EQ(profile.instruction_size(), 2);
  const auto seconds = [&](size_t span) {
    return static_cast<double>(run.spans(0)[span].end - run.spans(0)[span].begin) *
           run.seconds_per_tick();
  };
  const double wait = static_cast<double>(after - before) * run.seconds_per_tick();
  // Spans 2 to 6 are the recorded step; the device waited for its infeed in a part of the other.
  double recorded = 0;
  for (size_t span = 2; span <= 6; ++span) recorded += seconds(span);
  const double steps_like_it = 1 + (seconds(1) - wait) / recorded;
  constexpr double kTicks = 1e-7;
  std::vector<double> instructions = {seconds(3), seconds(4)};
  std::sort(instructions.rbegin(), instructions.rend());
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(profile.instruction(i).seconds() * 3, instructions[i] * steps_like_it, kTicks);
    EXPECT_NEAR(profile.instruction(i).kernel_roof(), alone[0] / instructions[i], 1e-3);
  }
  const proto::WorkerTime& worker = profile.worker(0);
  EXPECT_NEAR(profile.instruction(0).seconds() + profile.instruction(1).seconds(),
              worker.busy_seconds(), 1e-9);
  EXPECT_NEAR(profile.critical_path_seconds(), worker.busy_seconds(), 1e-9);
  EXPECT_NEAR(worker.barrier_seconds() * 3, (seconds(2) + seconds(5) + seconds(6)) * steps_like_it,
              kTicks);
  EXPECT_NEAR(worker.infeed_seconds() * 3, wait, kTicks);
  EXPECT_NEAR(worker.busy_seconds() + worker.barrier_seconds() + worker.infeed_seconds(),
              profile.step_seconds(), kTicks);
}

// The workers sleep until the last recorded step has ended: all of their time is that of barriers,
// and the wait is in a step that is not recorded.
TEST(AnalyzeTest, WaitsOfWorkersThatSleepCountOnce) {
  const Ran ran = RunSteps(false);
  RunProfile run(ran.program, kWorkers, 20, 0, ProfileDetail::kSomeSteps);
  run.Begin();
  const int64_t begin = Ticks();
  run.AddStepTick(0, begin);
  run.AddStepTick(1, begin + 1000);
  ASSERT_FALSE(run.records());
  run.AddWait({.begin = begin + 1000, .end = begin + 1500, .kind = ProfileSpan::Kind::kInfeed});
  run.AddStepTick(2, begin + 2000);
  ASSERT_TRUE(run.records());
  run.AddStepTick(3, begin + 3000);
  ASSERT_FALSE(run.records());
  run.End();
  const proto::Profile profile = Analyze({.program = ran.program, .run = run});
  EXPECT_NEAR(profile.accounted_share(), 1, 1e-9);
  for (const proto::WorkerTime& worker : profile.worker()) {
    EXPECT_NEAR(worker.infeed_seconds(), profile.step_seconds() * 500 / 3000, 1e-12);
    EXPECT_NEAR(worker.barrier_seconds(), profile.step_seconds() * 2500 / 3000, 1e-12);
  }
}

TEST(AnalyzeTest, TimesAddUp) {
  const Ran ran = RunSteps(true);
  proto::MachinePeaks machine;
  machine.set_f32_gflops(100);
  machine.set_memory_gbytes(10);
  const proto::Profile profile = Analyze({.program = ran.program,
                                          .run = *ran.profile,
                                          .machine = machine,
                                          .alone = ran.alone,
                                          .batch_size = kReplicas * kRows,
                                          .input = {{"text", 10, 2.0}, {"batch", 10, 0.5}}});
  EXPECT_EQ(profile.steps(), kSteps);
  EXPECT_EQ(profile.num_workers(), kWorkers);
  EXPECT_GT(profile.step_seconds(), 0);
  const auto sum_of = [](const auto& rows) {
    double seconds = 0;
    for (const proto::ProfileRow& row : rows) seconds += row.seconds();
    return seconds;
  };
  const double all = sum_of(profile.instruction());
  EXPECT_NEAR(sum_of(profile.layer()), all, 1e-9);
  EXPECT_NEAR(sum_of(profile.op()), all, 1e-9);
  double busy = 0;
  for (const proto::WorkerTime& worker : profile.worker()) {
    busy += worker.busy_seconds();
    EXPECT_NEAR(worker.busy_seconds() + worker.barrier_seconds() + worker.infeed_seconds() +
                    worker.outfeed_seconds(),
                profile.step_seconds(), 1e-9);
  }
  EXPECT_NEAR(busy, all, 1e-9);
  EXPECT_LE(profile.critical_path_seconds(), profile.step_seconds());
  EXPECT_GT(profile.critical_path_seconds(), 0);
  EXPECT_EQ(profile.input_rows_per_second(), 4);
  EXPECT_TRUE(profile.input(0).limit());
  EXPECT_FALSE(profile.input(1).limit());
}

// Worker 1 sleeps through phase 1; in phase 2 it computes longer than worker 0.
TEST(AnalyzeTest, TheCriticalPathGoesByPhases) {
  const Ran ran = RunSteps(false);
  RunProfile run(ran.program, kWorkers, 1);
  const auto compute = [&](int worker, int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    run.EndSpan(worker, ProfileSpan::Kind::kInstruction, 0, 0);
  };
  run.Begin();
  run.AddStepTick(0, Ticks());
  run.EndWait(0, 1);
  compute(0, 4);
  run.EndWait(0, 2);
  run.EndWait(1, 2);
  compute(0, 2);
  compute(1, 4);
  run.EndWait(0, 3);
  run.EndWait(1, 3);
  run.AddStepTick(1, Ticks());
  run.End();
  const auto seconds = [&](int worker, size_t i) {
    const ProfileSpan& span = run.spans(worker)[i];
    return static_cast<double>(span.end - span.begin) * run.seconds_per_tick();
  };
  const proto::Profile profile = Analyze({.program = ran.program, .run = run});
  EXPECT_NEAR(profile.critical_path_seconds(), seconds(0, 1) + seconds(1, 1), 1e-9);
  EXPECT_GT(profile.critical_path_seconds(), 0.01);
}

// Both products of a step on all cores.
TEST(AnalyzeTest, WorkIsThatOfAllCores) {
  const Ran ran = RunSteps(true);
  const proto::Profile profile = Analyze({.program = ran.program, .run = *ran.profile});
  double flops = 0;
  for (const proto::ProfileRow& row : profile.instruction()) flops += row.matrix_flops();
  EXPECT_DOUBLE_EQ(flops, 2.0 * kReplicas * 2 * kRows * kWidth * kWidth);
  bool forward = false;
  for (const proto::ProfileRow& row : profile.layer())
    forward = forward || (row.name() == "a" && row.phase() == "forward" && row.matrix_flops() > 0);
  EXPECT_TRUE(forward);
}

TEST(TimeUnitTest, StepsBelowAMillisecondAreInMicroseconds) {
  proto::Profile profile;
  profile.set_step_seconds(0.0009996);
  EXPECT_STREQ(TimeUnitOf(profile).symbol, "us");
  EXPECT_EQ(TimeUnitOf(profile).Text(81.4e-9), "0.081");
  profile.set_step_seconds(0.001);
  EXPECT_STREQ(TimeUnitOf(profile).symbol, "ms");
  EXPECT_EQ(TimeUnitOf(profile).Text(0.0123456), "12.346");
}

TEST(MemoryAtPeakTest, CountsWhatLivesTogether) {
  const Ran ran = RunSteps(true);
  const proto::ProfileMemory memory = MemoryAtPeak(ran.program, kWorkers);
  EXPECT_EQ(memory.variables_bytes(), 4 * kWidth * kWidth);
  EXPECT_GT(memory.peak_bytes(), 0);
  EXPECT_LE(memory.peak_bytes(), memory.arena_bytes());
  double layers = 0;
  for (const proto::MemoryOfLayer& layer : memory.at_peak()) layers += layer.bytes();
  EXPECT_NEAR(layers, memory.peak_bytes(), 8);  // each row is rounded down
}

TEST(TraceTest, HasEverySpanAndEveryLane) {
  const Ran ran = RunSteps(true);
  const std::vector<int64_t>& ticks = ran.profile->step_ticks();
  const auto batch = [&](int64_t begin, int64_t end) {
    return HostTrace::Span{HostTrace::Lane::kInfeed, "batch", begin, end};
  };
  const std::vector<HostTrace::Span> host_spans = {
      batch(ticks[0] - 2, ticks[0] - 1),  // before the steps: left out
      batch(ticks[1], ticks[2])};
  TraceEvents events;
  AddProfiledSteps(ran.program, *ran.profile, host_spans, events);
  const nlohmann::json trace = nlohmann::json::parse(events.Take());
  std::vector<std::string> lanes;
  int64_t spans = 0, steps = 0, batches = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name") lanes.push_back(event["args"]["name"]);
      continue;
    }
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["dur"].get<double>(), 0);
    if (event["pid"] == 1) ++spans;
    if (event["pid"] == 3 && event["tid"] == 1) ++steps;
    if (event["pid"] == 3 && event["tid"] == 3) ++batches;
  }
  const std::vector<std::string> want = {"worker 0", "worker 1", "core 0",    "core 1",
                                         "core 2",   "core 3",   "steps",     "waits of the device",
                                         "infeed",   "outfeed",  "checkpoint"};
  EXPECT_EQ(lanes, want);
  EXPECT_EQ(steps, kSteps);
  EXPECT_EQ(batches, 1);
  int64_t recorded = 0;
  for (int worker = 0; worker < kWorkers; ++worker)
    recorded += std::ssize(ran.profile->spans(worker));
  EXPECT_EQ(spans, recorded);
}

TEST(TraceEventsTest, SpansThatTouchStillDoInNanoseconds) {
  TraceEvents events;
  events.NameProcess(1, "\"a\"\n");
  for (int i = 0; i < 7; ++i) events.AddSpan(1, 0, "\"x\"", i / 7.0, (i + 1) / 7.0, "{}");
  events.AddCount(1, "memory", "bytes", 0.25, int64_t{1} << 40);
  const nlohmann::json trace = nlohmann::json::parse(events.Take())["traceEvents"];
  ASSERT_EQ(trace.size(), 10u);
  EXPECT_EQ(trace[0]["args"]["name"], "\"a\"\n");
  int64_t end = 0;
  for (size_t i = 2; i < 9; ++i) {
    const double begin = trace[i]["ts"].get<double>() * 1e3;
    EXPECT_EQ(std::llround(begin), end);
    end = std::llround(begin + trace[i]["dur"].get<double>() * 1e3);
  }
  EXPECT_EQ(end, 1000);
  EXPECT_EQ(trace[9]["ph"], "C");
  EXPECT_EQ(trace[9]["args"]["bytes"], int64_t{1} << 40);
}

TEST(MachinePeaksTest, AreMeasured) {
  const proto::MachinePeaks peaks = MeasurePeaks(1);
  EXPECT_GT(peaks.f32_gflops(), 0.1);
  EXPECT_GT(peaks.memory_gbytes(), 0.1);
}

}  // namespace
}  // namespace tpurun
