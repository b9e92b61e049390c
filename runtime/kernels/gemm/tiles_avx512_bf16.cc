// Tiles of pairs of bf16 numbers, for AVX-512 with bf16.
#include "runtime/kernels/gemm/avx512_vector.h"
#include "runtime/kernels/gemm/tile_loops.h"

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
};
constexpr int kLanes = Avx512Vector::kLanes;

// 32 numbers or less as bf16, those behind them as 0.
__m512i Load(const uint16_t* from, int numbers) {
  if (numbers == 2 * kLanes) return _mm512_loadu_si512(from);
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << numbers) - 1), from);
}
__m512i Load(const float* from, int numbers) {
  __m512 low, high;
  if (numbers == 2 * kLanes) {
    low = _mm512_loadu_ps(from);
    high = _mm512_loadu_ps(from + kLanes);
  } else {
    const uint32_t mask = (1u << numbers) - 1;
    low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
    high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> kLanes), from + kLanes);
  }
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

void StoreElements(__m512i elements, int n, float* to) {
  if (n >= kLanes) return _mm512_storeu_si512(to, elements);
  if (n > 0) _mm512_mask_storeu_epi32(to, Avx512Vector::Mask(n), elements);
}

int AtMost(int64_t n, int most) { return n < most ? static_cast<int>(n) : most; }

template <typename Number>
void PairNeighbours(const Number* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += 2 * kLanes, to += kLanes) {
    const int numbers = AtMost(n - i, 2 * kLanes);
    StoreElements(_mm512_rol_epi32(Load(from + i, numbers), 16), (numbers + 1) / 2, to);
  }
}

template <typename Number>
void PairRows(const Number* first, const Number* second, int64_t n, float* to) {
  // Element i is number i of `second`, then number i of `first`; those of `first` follow 32 others.
  alignas(64) static constexpr uint16_t kOrder[4 * kLanes] = {
      0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
      11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53,
      22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
  const __m512i low = _mm512_load_si512(kOrder), high = _mm512_load_si512(kOrder + 2 * kLanes);
  for (int64_t i = 0; i < n; i += 2 * kLanes) {
    const int numbers = AtMost(n - i, 2 * kLanes);
    const __m512i above = Load(first + i, numbers);
    const __m512i below = second == nullptr ? _mm512_setzero_si512() : Load(second + i, numbers);
    StoreElements(_mm512_permutex2var_epi16(below, low, above), numbers, to + i);
    StoreElements(_mm512_permutex2var_epi16(below, high, above), numbers - kLanes, to + i + kLanes);
  }
}

constexpr Tiles MakeBFloat16Tiles() {
  Tiles tiles{.lanes = kLanes,
              .numbers = 2,
              .block_depth = 512,
              .pair_neighbours_f32 = PairNeighbours<float>,
              .pair_neighbours_bf16 = PairNeighbours<uint16_t>,
              .pair_rows_f32 = PairRows<float>,
              .pair_rows_bf16 = PairRows<uint16_t>,
              .transpose = Transpose16};
  SetTiles<BFloat16PairVector, 3, 8>(tiles);
  SetTiles<BFloat16PairVector, 2, 12>(tiles);
  SetTiles<BFloat16PairVector, 1, 12>(tiles);
  return tiles;
}

}  // namespace

constinit const Tiles kAvx512BFloat16Tiles = MakeBFloat16Tiles();

}  // namespace tpurun::gemm
