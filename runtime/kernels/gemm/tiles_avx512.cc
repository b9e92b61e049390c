// Tiles of f32 for AVX-512.
#include "runtime/kernels/gemm/avx512_vector.h"

namespace tpurun::gemm {

constinit const Tiles kAvx512Tiles = MakeAvx512Tiles<Avx512Vector>();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
