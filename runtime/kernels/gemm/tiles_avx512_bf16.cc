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

// bf16 numbers in the lower halves of words.
__m512i Load16(const uint16_t* from, __mmask16 mask) {
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
}
__m512i Load16(const float* from, __mmask16 mask) {
  const __m512 numbers = _mm512_maskz_loadu_ps(mask, from);
  return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(numbers)));
}

__m512i Load32(const uint16_t* from, __mmask32 mask) {
  return _mm512_maskz_loadu_epi16(mask, from);
}
__m512i Load32(const float* from, __mmask32 mask) {
  const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
  const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + kLanes);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

void StoreElements(__m512i elements, int n, float* to) {
  if (n == kLanes) return _mm512_storeu_si512(to, elements);
  _mm512_mask_storeu_epi32(to, Avx512Vector::Mask(n), elements);
}

template <typename Number>
void PairNeighbours(const Number* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += 2 * kLanes, to += kLanes) {
    const int numbers = static_cast<int>(n - i < 2 * kLanes ? n - i : 2 * kLanes);
    const __m512i pairs = Load32(from + i, static_cast<__mmask32>((uint64_t{1} << numbers) - 1));
    StoreElements(_mm512_rol_epi32(pairs, 16), (numbers + 1) / 2, to);
  }
}

template <typename Number>
void PairRows(const Number* first, const Number* second, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const int numbers = static_cast<int>(n - i < kLanes ? n - i : kLanes);
    const __mmask16 mask = Avx512Vector::Mask(numbers);
    __m512i pairs = _mm512_slli_epi32(Load16(first + i, mask), 16);
    if (second != nullptr) pairs = _mm512_or_si512(pairs, Load16(second + i, mask));
    StoreElements(pairs, numbers, to + i);
  }
}

constexpr Tiles MakeBFloat16Tiles() {
  Tiles tiles{.lanes = kLanes,
              .numbers = 2,
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
