#include "runtime/tpu/accelerator.h"

#include <array>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Sources: cloud.google.com/tpu/docs/v3 and /v4; jax/_src/pallas/mosaic/tpu_info.py of jax-ml/jax
// (HBM, bandwidths, CMEM; half a chip's for v2 and v3); Jouppi et al., "A Domain-Specific
// Supercomputer for Training Deep Neural Networks", CACM 63(7), 2020 (clocks, links: 496 and 656
// Gbit/s).
constexpr std::array kGenerations = {
    TpuGeneration{.name = "v2",
                  .matrix_units = 1,
                  .clock = 700e6,
                  .hbm_bandwidth = 358e9,
                  .hbm_bytes = int64_t{8} << 30,
                  .vector_alus = 2,
                  .link_bandwidth = 62e9,
                  .most_cores = 512,
                  .torus_cores = 512,
                  .host_threads = 96},
    TpuGeneration{.name = "v3",
                  .matrix_units = 2,
                  .clock = 940e6,
                  .hbm_bandwidth = 450e9,
                  .hbm_bytes = int64_t{16} << 30,
                  .vector_alus = 2,
                  .link_bandwidth = 82e9,
                  .most_cores = 2048,
                  .torus_cores = 2048,
                  .host_threads = 96},
    TpuGeneration{.name = "v4",
                  .matrix_units = 8,
                  .cores = 2,
                  .clock = 1050e6,
                  .hbm_bandwidth = 1200e9,
                  .hbm_bytes = int64_t{32} << 30,
                  .cmem_bytes = 128 << 20,
                  .vector_alus = 4,
                  .link_bandwidth = 50e9,
                  .link_axes = 3,
                  .most_cores = 4096,
                  .torus_cores = 128,
                  .estimated = true},
};

// Cores of the slices on sale (cloud.google.com/tpu/docs/tpus): 8, then powers of 2 from 32 on; of
// v2 not 64, of v4 16 too.
bool IsLegalSlice(const TpuGeneration& generation, int64_t cores) {
  if (cores < 8 || cores > generation.most_cores || (cores & (cores - 1)) != 0) return false;
  if (generation.name == "v2" && cores == 64) return false;
  return cores != 16 || generation.name == "v4";
}

}  // namespace

int Accelerator::rows() const {
  int rows = 1;
  while (4 * rows * rows <= chips()) rows *= 2;
  return rows;
}

std::string Accelerator::name() const { return absl::StrCat(ToAbsl(generation->name), "-", cores); }

absl::StatusOr<Accelerator> ParseAcceleratorType(std::string_view type) {
  const size_t dash = type.find('-');
  for (const TpuGeneration& generation : kGenerations) {
    if (dash == std::string_view::npos || type.substr(0, dash) != generation.name) continue;
    const std::optional<int64_t> cores = ParseInt64(type.substr(dash + 1));
    if (!cores.has_value() || !IsLegalSlice(generation, *cores)) continue;
    const Accelerator slice{.generation = &generation, .cores = static_cast<int>(*cores)};
    if (slice.name() == type) return slice;
  }
  std::vector<std::string> legal;
  for (const TpuGeneration& generation : kGenerations) {
    for (int cores = 8; cores <= generation.most_cores; cores *= 2) {
      if (!IsLegalSlice(generation, cores)) continue;
      legal.push_back(Accelerator{.generation = &generation, .cores = cores}.name());
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("--accelerator_type: got ", Quote(type),
                                                 ", want one of ", absl::StrJoin(legal, ", ")));
}

}  // namespace tpurun
