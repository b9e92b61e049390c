// Tiles for AVX-512: 8 x 48, 14 x 32 and 14 x 16, of 14 to 28 independent sums. 14 rows divide the
// images of common networks.
#include "runtime/kernels/gemm/avx512_vector.h"
#include "runtime/kernels/gemm/tile_loops.h"

namespace tpurun::gemm {
namespace {

constexpr Tiles MakeAvx512Tiles() {
  Tiles tiles{.lanes = Avx512Vector::kLanes, .block_depth = 512, .transpose = Transpose16};
  SetTiles<Avx512Vector, 3, 8>(tiles);
  SetTiles<Avx512Vector, 2, 14>(tiles);
  SetTiles<Avx512Vector, 1, 14>(tiles);
  return tiles;
}

}  // namespace

constinit const Tiles kAvx512Tiles = MakeAvx512Tiles();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
