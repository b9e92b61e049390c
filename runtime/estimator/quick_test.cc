#include "runtime/estimator/quick_test.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/estimator/setup.h"
#include "runtime/ir/graph_builder.h"
#include "runtime/ops/ops.h"
#include "runtime/profile/machine_peaks.h"
#include "runtime/session/infeed.h"
#include "runtime/session/outfeed.h"
#include "runtime/session/session.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

constexpr int kReplicas = kDevice.num_of_replicas_per_host;
// Sums of 1024^3 are exact in f32: all partial sums are multiples of 1024 below 2^24 x 1024.
constexpr int64_t kSize = 1024;
constexpr int64_t kProducts = 10;  // in a step: the batch is fed once for all of them
constexpr double kSecondsOfProducts = 1;
constexpr int64_t kLeastRuns = 2, kMostRuns = 10000;

class Ones : public BatchSource {
 public:
  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    std::fill_n(reinterpret_cast<float*>(buffers[0]), kReplicas * kSize * kSize, 1.0f);
    return kReplicas * kSize;
  }
  std::string Position() const override { return ""; }
  absl::Status Restore(const std::string&) override { return absl::OkStatus(); }
  std::string Where(int64_t) const override { return ""; }
};

absl::StatusOr<Graph> SumOfProduct(Precision precision) {
  GraphBuilder b(Graph("quick_test", kReplicas));
  const Value x = b.AddInfeed("x", {DType::kF32, {kSize, kSize}});
  const Value y = b.Read(b.AddVariable(
      {.name = "y", .shape = {DType::kF32, {kSize, kSize}}, .initializer = {.a = 1}}));
  // The product of ones, divided by its inner dimension, is ones again, exactly.
  Value z = x;
  for (int64_t i = 1; i < kProducts; ++i)
    z = Mul(b, MatMul(b, z, y, precision), Scalar(b, 1.0 / kSize));
  b.AddOutput("sum", ReduceSum(b, MatMul(b, z, y, precision)));
  RETURN_IF_ERROR(b.status());
  return b.Take();
}

// The sums of one batch, one for each core.
absl::Status CheckSums(const std::byte* entry, const CoreProgram& program) {
  const SlotLayout layout = LayoutOf(program.outfeed, program.num_replicas);
  for (int replica = 0; replica < program.num_replicas; ++replica) {
    const float sum = *reinterpret_cast<const float*>(entry + layout.offsets[0] +
                                                      replica * layout.replica_bytes[0]);
    if (sum == std::pow(kSize, 3)) continue;
    return absl::DataLossError(absl::StrCat("core ", replica, ": the sum of a product of ones is ",
                                            sum, ", want ", kSize * kSize * kSize));
  }
  return absl::OkStatus();
}

// 1e9 flops a second of all cores.
absl::StatusOr<double> Measure(Precision precision, int num_workers, KernelChoice kernels,
                               const std::atomic<int>* interrupt, QuickTestResult& result) {
  ASSIGN_OR_RETURN(const Graph graph, SumOfProduct(precision));
  Session session(num_workers, kDevice);
  const EstimatorOptions options{.kernels = kernels};
  RETURN_IF_ERROR(session.Load(graph, MakeCompileOptions(options)));
  RETURN_IF_ERROR(SetVariables(options, std::nullopt, false, graph.variables(), session));
  const CoreProgram& program = session.program();
  Outfeed outfeed(program,
                  [&](int64_t, const std::byte* entry) { return CheckSums(entry, program); });
  ASSIGN_OR_RETURN(
      const InfeedPtr infeed,
      Infeed::Create({{.name = "x", .shape = {DType::kF32, {kSize}}}}, std::make_unique<Ones>(),
                     program, {.batch_size = kReplicas * kSize}));
  infeed->Start();
  double seconds = 0;
  for (int64_t steps : {int64_t{1}, int64_t{0}}) {
    if (steps == 0) {
      steps = std::clamp(static_cast<int64_t>(kSecondsOfProducts / seconds), kLeastRuns, kMostRuns);
      result.steps = steps;
    }
    const auto begin = std::chrono::steady_clock::now();
    const RunResult run =
        session.RunLoop({.iterations = steps, .interrupt = interrupt}, *infeed, &outfeed);
    if (run.interrupted) return absl::CancelledError("interrupted");
    if (!run.status.ok()) {
      RETURN_IF_ERROR(outfeed.Finish());  // a wrong sum has closed it
      return run.status;
    }
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  RETURN_IF_ERROR(outfeed.Finish());
  result.num_workers = session.num_workers();
  result.machine.set_name(program.machine);
  const double flops =
      2 * std::pow(kSize, 3) * kProducts * kReplicas * static_cast<double>(result.steps);
  return flops / seconds * 1e-9;
}

}  // namespace

absl::StatusOr<QuickTestResult> RunQuickTest(int num_workers, KernelChoice kernels,
                                             const std::atomic<int>* interrupt) {
  QuickTestResult result = {
      .num_replicas = kReplicas, .size = kSize, .products = kProducts, .sum = std::pow(kSize, 3)};
  ASSIGN_OR_RETURN(result.bf16_gflops,
                   Measure(Precision::kDefault, num_workers, kernels, interrupt, result));
  ASSIGN_OR_RETURN(result.f32_gflops,
                   Measure(Precision::kF32, num_workers, kernels, interrupt, result));
  const std::string name = result.machine.name();
  result.machine = MeasurePeaks(result.num_workers);
  result.machine.set_name(name);
  return result;
}

}  // namespace tpurun
