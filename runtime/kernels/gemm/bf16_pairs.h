// Pairs of bf16 numbers as elements, for the files of the instruction sets with bf16 alone.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_BF16_PAIRS_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_BF16_PAIRS_H_

#include "runtime/kernels/gemm/avx512_vector.h"

namespace tpurun::gemm {
namespace {

inline void StoreRoundedLanes(__m512 x, uint16_t* to, int lanes) {
  Avx512Vector::StoreHalves(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)), to, lanes);
}

constexpr int kLanes = Avx512Vector::kLanes;

// 32 numbers or less as bf16, those behind them as 0.
inline __m512i Load(const uint16_t* from, int numbers) {
  if (numbers == 2 * kLanes) return _mm512_loadu_si512(from);
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << numbers) - 1), from);
}
inline __m512i Load(const float* from, int numbers) {
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

inline void StoreElements(__m512i elements, int n, float* to) {
  if (n >= kLanes) return _mm512_storeu_si512(to, elements);
  if (n > 0) _mm512_mask_storeu_epi32(to, Avx512Vector::Mask(n), elements);
}

inline int AtMost(int64_t n, int most) { return n < most ? static_cast<int>(n) : most; }

// So many bytes of rows one behind the other are read into the cache ahead of time: those of few
// elements, a pixel or a head apart, would wait for each.
constexpr int64_t kAheadBytes = 2048;

template <bool as_in_memory, typename Number>
void PairNeighbours(const Number* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += 2 * kLanes, to += kLanes) {
    const int numbers = AtMost(n - i, 2 * kLanes);
    const char* const ahead = reinterpret_cast<const char*>(from + i) + kAheadBytes;
    __builtin_prefetch(ahead);
    if (sizeof(Number) > sizeof(uint16_t)) __builtin_prefetch(ahead + 64);
    const __m512i elements = Load(from + i, numbers);
    StoreElements(as_in_memory ? elements : _mm512_rol_epi32(elements, 16), (numbers + 1) / 2, to);
  }
}

// 16 numbers as bf16.
inline __m512i Load16(const uint16_t* from) {
  return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline __m512i Load16(const float* from) {
  const __m256bh numbers = _mm512_cvtneps_pbh(_mm512_loadu_ps(from));
  return _mm512_castsi256_si512(reinterpret_cast<__m256i>(numbers));
}

// Number i of `below`, then number i of `above`, from element `first` on.
template <int first>
inline __m512i Interleave(__m512i below, __m512i above) {
  // Those of `above` follow the 32 numbers of `below`.
  alignas(64) static constexpr uint16_t kOrder[2 * kLanes] = {
      first,      first + 32, first + 1,  first + 33, first + 2,  first + 34, first + 3,
      first + 35, first + 4,  first + 36, first + 5,  first + 37, first + 6,  first + 38,
      first + 7,  first + 39, first + 8,  first + 40, first + 9,  first + 41, first + 10,
      first + 42, first + 11, first + 43, first + 12, first + 44, first + 13, first + 45,
      first + 14, first + 46, first + 15, first + 47};
  return _mm512_permutex2var_epi16(below, _mm512_load_si512(kOrder), above);
}

template <bool as_in_memory, typename Number>
void PairRows(const Number* first, const Number* second, int64_t n, float* to) {
  if constexpr (as_in_memory) return PairRows<false>(second, first, n, to);
  int64_t i = 0;
  const bool both = first != nullptr && second != nullptr;
  for (; both && i + 2 * kLanes <= n; i += 2 * kLanes) {
    const __m512i above = Load(first + i, 2 * kLanes), below = Load(second + i, 2 * kLanes);
    _mm512_storeu_si512(to + i, Interleave<0>(below, above));
    _mm512_storeu_si512(to + i + kLanes, Interleave<kLanes>(below, above));
  }
  for (; both && i + kLanes <= n; i += kLanes)
    _mm512_storeu_si512(to + i, Interleave<0>(Load16(second + i), Load16(first + i)));
  for (; i < n; i += kLanes) {
    const int numbers = AtMost(n - i, kLanes);
    const auto load = [&](const Number* row) {
      return row == nullptr ? _mm512_setzero_si512() : Load(row + i, numbers);
    };
    StoreElements(Interleave<0>(load(second), load(first)), numbers, to + i);
  }
}

template <bool as_in_memory, typename Number>
void PairAllRows(const Number* from, int64_t from_row, int64_t rows, int64_t n, float* to,
                 int64_t to_row) {
  for (int64_t row = 0; row < rows; row += 2) {
    const Number* const first = from + row * from_row;
    PairRows<as_in_memory>(first, row + 1 < rows ? first + from_row : nullptr, n,
                           to + row / 2 * to_row);
  }
}

// Sets what packs the elements.
template <bool as_in_memory>
constexpr void SetPairs(Tiles& tiles) {
  tiles.numbers = 2;
  tiles.as_in_memory = as_in_memory;
  tiles.pair_neighbours_f32 = PairNeighbours<as_in_memory, float>;
  tiles.pair_neighbours_bf16 = PairNeighbours<as_in_memory, uint16_t>;
  tiles.pair_rows_f32 = PairRows<as_in_memory, float>;
  tiles.pair_rows_bf16 = PairRows<as_in_memory, uint16_t>;
  tiles.pair_all_rows_f32 = PairAllRows<as_in_memory, float>;
  tiles.pair_all_rows_bf16 = PairAllRows<as_in_memory, uint16_t>;
}

}  // namespace
}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_BF16_PAIRS_H_
