// Tiles of f32 for AVX-512.
#include "runtime/kernels/gemm/avx512_vector.h"
#include "runtime/kernels/gemm/tile_loops.h"

namespace tpurun::gemm {
namespace {

constexpr Tiles MakeAvx512Tiles() {
  Tiles tiles{.lanes = Avx512Vector::kLanes, .block_depth = 512, .transpose = Transpose16};
  SetAvx512Tiles<Avx512Vector>(tiles);
  return tiles;
}

}  // namespace

constinit const Tiles kAvx512Tiles = MakeAvx512Tiles();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
