// Processes stop after the same step, whatever one of them alone has found in it.
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/compiler/compile.h"
#include "runtime/device/device.h"
#include "runtime/fabric/thread_fabric.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

constexpr int kReplicas = 16, kProcesses = 2, kLocal = kReplicas / kProcesses;
constexpr int64_t kSteps = 5;

// Each core adds its batch to a variable of its own, and feeds the batch out.
CoreProgram ProgramOf(int process) {
  GraphBuilder b(Graph("sums", kReplicas));
  const Value x = b.AddInfeed("x", Shape{DType::kF32, {3}});
  const int sum = b.AddVariable({.name = "sum", .shape = {DType::kF32, {3}}});
  b.Update(sum, Add(b, b.Read(sum), x));
  b.AddOutput("x", Add(b, x, x));
  EXPECT_TRUE(b.status().ok()) << b.status();
  const auto program =
      Compile(b.Take(), {.ops = OpsOfPasses(), .processes = kProcesses, .process = process});
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : CoreProgram();
}

// The results of both processes, if core `replica` is fed with `value` in step `step` and with 1
// otherwise. `batches`: of each process, before its input ends.
std::vector<RunResult> RunWith(int replica, float value, int64_t step,
                               const std::array<int64_t, kProcesses>& batches) {
  const auto fabrics = MakeThreadFabrics(kProcesses);
  std::vector<RunResult> results(kProcesses);
  std::vector<std::thread> threads;
  for (int process = 0; process < kProcesses; ++process) {
    threads.emplace_back([&, process] {
      const CoreProgram program = ProgramOf(process);
      const SlotLayout layout = LayoutOf(program.infeed, program.num_replicas);
      EntryRing infeed(layout.bytes, kSteps, 1);
      EntryRing outfeed(OutfeedEntryBytes(program), kSteps, 1);
      for (int64_t batch = 0; batch < batches[process]; ++batch) {
        std::byte* const entry = *infeed.Reserve();
        for (int core = 0; core < kLocal; ++core) {
          const bool here = batch == step && process * kLocal + core == replica;
          auto* const x =
              reinterpret_cast<float*>(entry + layout.offsets[0] + core * layout.replica_bytes[0]);
          std::fill_n(x, 3, here ? value : 1.0f);
        }
        infeed.Commit();
      }
      infeed.Close(absl::OutOfRangeError("the input ended"));
      std::vector<std::byte> sums(kLocal * Aligned(3 * sizeof(float)));
      const auto device = Device::Create(1);
      auto loaded = device->Load(program, {sums.data()});
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      results[process] = device->Run(**loaded, {.iterations = kSteps,
                                                .fabric = fabrics[process].get(),
                                                .infeed = &infeed,
                                                .outfeed = &outfeed});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// The step has an outfeed entry, of which each process gives the others its share all the same.
TEST(StopsTest, AVariableOfOneProcessThatIsNotFiniteStopsAll) {
  const auto results = RunWith(11, std::numeric_limits<float>::infinity(), 2, {kSteps, kSteps});
  for (const RunResult& result : results) {
    EXPECT_EQ(result.steps, 3);
    EXPECT_TRUE(absl::IsAborted(result.status)) << result.status;
    EXPECT_TRUE(result.between_steps);
  }
  EXPECT_FALSE(results[0].not_finite.has_value());
  ASSERT_TRUE(results[1].not_finite.has_value());
  EXPECT_EQ(results[1].not_finite->core, 11 - kLocal);
}

TEST(StopsTest, TheEndOfOneInputStopsAll) {
  for (const RunResult& result : RunWith(0, 1, 0, {kSteps, 2})) {
    EXPECT_EQ(result.steps, 2);
    EXPECT_TRUE(absl::IsOutOfRange(result.status)) << result.status;
    EXPECT_TRUE(result.between_steps);
  }
}

TEST(StopsTest, OtherwiseAllRunAllSteps) {
  for (const RunResult& result : RunWith(0, 1, 0, {kSteps, kSteps})) {
    EXPECT_EQ(result.steps, kSteps);
    EXPECT_TRUE(result.status.ok()) << result.status;
  }
}

}  // namespace
}  // namespace tpurun
