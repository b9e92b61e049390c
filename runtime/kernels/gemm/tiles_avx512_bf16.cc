// Tiles of pairs of bf16 numbers, for AVX-512 with bf16.
#include "runtime/kernels/gemm/avx512_vector.h"
#include "runtime/kernels/gemm/bf16_pairs.h"

namespace tpurun::gemm {
namespace {

// The lanes of x and y are pairs of bf16 numbers, those of z are floats. vdpbf16ps adds the product
// of the upper numbers first, then that of the lower ones, and rounds after each (Intel 64 and
// IA-32 Architectures Software Developer's Manual, volume 2). Products of bf16 numbers are exact in
// f32: these are two fused multiply-adds.
struct BFloat16PairVector : Avx512Vector {
  static Type FusedMultiplyAdd(Type x, Type y, Type z) {
    return _mm512_dpbf16_ps(z, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
  }
  // Broadcast by the multiplication itself: GCC 12 makes two instructions of FusedMultiplyAdd.
  // Tiles of 16 columns then have no load for each multiplication besides (Zen 4: 172, now 225
  // GFLOP/s).
  static Type MultiplyAddBroadcast(const float* x, Type y, Type z) {
    asm("vdpbf16ps %1%{1to16%}, %2, %0" : "+v"(z) : "m"(*x), "v"(y));
    return z;
  }
  static void StoreRounded(Type x, uint16_t* to, int lanes) { StoreRoundedLanes(x, to, lanes); }
};

constexpr Tiles MakeBFloat16Tiles() {
  Tiles tiles = MakeAvx512Tiles<BFloat16PairVector>();
  SetPairs<false>(tiles);
  return tiles;
}

}  // namespace

constinit const Tiles kAvx512BFloat16Tiles = MakeBFloat16Tiles();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
