// The Cloud TPUs that `check` knows: the properties of a core and of a slice.
#ifndef TPURUN_RUNTIME_TPU_ACCELERATOR_H_
#define TPURUN_RUNTIME_TPU_ACCELERATOR_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/ir/tpu_work.h"

namespace tpurun {

// A generation of Cloud TPUs. Figures are those of one device of a program: a TensorCore, or a chip
// of two that work as one (a megacore).
struct TpuGeneration {
  std::string_view name;      // "v2"
  int matrix_units = 1;       // each of 128 x 128 multipliers, bf16 in, f32 out
  int cores = 1;              // TensorCores of a device
  double clock = 0;           // Hz
  double hbm_bandwidth = 0;   // bytes per second
  int64_t hbm_bytes = 0;      // with what the runtime reserves (kReservedHbm)
  int64_t cmem_bytes = 0;     // memory beside the HBM, for arrays that live shortly
  int vector_alus = 1;        // of each of the 8 x 128 lanes
  double link_bandwidth = 0;  // bytes per second and direction of one link between chips
  int link_axes = 2;          // of the mesh of chips
  int most_cores = 0;         // of the largest slice
  int torus_cores = 0;        // slices of so many cores and more have wraparound links
  int host_threads = 0;       // of the machine that feeds 8 cores; 0: not known
  bool estimated = false;     // published figures are few: what is said of it is an estimate

  // Products of bf16 with f32 sums, in floating point operations per second.
  double matrix_peak() const { return 2.0 * kTpuLanes * kTpuLanes * matrix_units * clock; }
  // Additions or products of f32 per second.
  double vector_peak() const { return 1.0 * kTpuSublanes * kTpuLanes * vector_alus * clock; }
};

// HBM of a device that a program cannot have: "reserved 528.00M" of the reports in
// tensor2tensor#1382 and tensorflow#30803.
inline constexpr int64_t kReservedHbm = 528 << 20;

// A slice of a pod, as --accelerator_type names it: "v3-32" has 32 cores.
struct Accelerator {
  const TpuGeneration* generation = nullptr;
  int cores = 8;

  int chips() const { return cores / 2; }
  int hosts() const { return cores / 8; }
  int devices() const { return cores / generation->cores; }  // replicas of a program
  int devices_of_host() const { return 8 / generation->cores; }
  // Sides of the mesh of chips: 2 x 2, 4 x 4, 4 x 8 ... A box has the same number of hops or fewer.
  int rows() const;
  int columns() const { return chips() / rows(); }
  bool torus() const { return cores >= generation->torus_cores; }
  std::string name() const;
};

// InvalidArgument, with the legal types, if there is none of that name.
absl::StatusOr<Accelerator> ParseAcceleratorType(std::string_view type);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_ACCELERATOR_H_
