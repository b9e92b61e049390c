// The quick test of Cloud TPU notebooks: one matrix product of ones on every core, to see that the
// whole path works and how many FLOPS it reaches.
#ifndef TPURUN_RUNTIME_ESTIMATOR_QUICK_TEST_H_
#define TPURUN_RUNTIME_ESTIMATOR_QUICK_TEST_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/profile.pb.h"
#include "runtime/ir/machine.h"

namespace tpurun {

struct QuickTestResult {
  int num_replicas = 0;
  int num_workers = 0;
  int64_t size = 0;        // of the matrices, size x size
  int64_t products = 0;    // in a step, one after the other
  int64_t steps = 0;       // for each precision
  double sum = 0;          // of the product on each core; size^3 is right
  double bf16_gflops = 0;  // 1e9 flops a second of all cores at DEFAULT precision
  double f32_gflops = 0;   // the same in f32
  proto::MachinePeaks machine;
};

// Feeds a batch of ones to each of 8 cores, multiplies it with a variable of ones several times,
// and reads the sum of the last product from the outfeed. DataLoss if a sum is wrong. Cancelled if
// `interrupt` (may be nullptr) becomes non-zero. `num_workers` 0: one for each CPU.
absl::StatusOr<QuickTestResult> RunQuickTest(int num_workers, KernelChoice kernels,
                                             const std::atomic<int>* interrupt);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_ESTIMATOR_QUICK_TEST_H_
