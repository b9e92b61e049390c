// Tiles of pairs of bf16 numbers, for AVX-512 with bf16.
#include "runtime/kernels/gemm/avx512_vector.h"

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
  static void StoreRounded(Type x, uint16_t* to, int lanes) {
    StoreHalves(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)), to, lanes);
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

// 16 numbers as bf16.
__m512i Load16(const uint16_t* from) {
  return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
__m512i Load16(const float* from) {
  const __m256bh numbers = _mm512_cvtneps_pbh(_mm512_loadu_ps(from));
  return _mm512_castsi256_si512(reinterpret_cast<__m256i>(numbers));
}

// Number i of `below`, then number i of `above`, from element `first` on.
template <int first>
__m512i Interleave(__m512i below, __m512i above) {
  // Those of `above` follow the 32 numbers of `below`.
  alignas(64) static constexpr uint16_t kOrder[2 * kLanes] = {
      first,      first + 32, first + 1,  first + 33, first + 2,  first + 34, first + 3,
      first + 35, first + 4,  first + 36, first + 5,  first + 37, first + 6,  first + 38,
      first + 7,  first + 39, first + 8,  first + 40, first + 9,  first + 41, first + 10,
      first + 42, first + 11, first + 43, first + 12, first + 44, first + 13, first + 45,
      first + 14, first + 46, first + 15, first + 47};
  return _mm512_permutex2var_epi16(below, _mm512_load_si512(kOrder), above);
}

template <typename Number>
void PairRows(const Number* first, const Number* second, int64_t n, float* to) {
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

constexpr Tiles MakeBFloat16Tiles() {
  Tiles tiles = MakeAvx512Tiles<BFloat16PairVector>();
  tiles.numbers = 2;
  tiles.pair_neighbours_f32 = PairNeighbours<float>;
  tiles.pair_neighbours_bf16 = PairNeighbours<uint16_t>;
  tiles.pair_rows_f32 = PairRows<float>;
  tiles.pair_rows_bf16 = PairRows<uint16_t>;
  return tiles;
}

}  // namespace

constinit const Tiles kAvx512BFloat16Tiles = MakeBFloat16Tiles();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
