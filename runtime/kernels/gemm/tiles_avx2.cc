// Tiles for AVX2 and FMA: 4 x 24, 6 x 16 and 8 x 8, of 8 to 12 independent sums. A Zen 3 or a
// Skylake needs 8 or 10 of them, as two FMA of 4 or 5 cycles latency start in a cycle.
#include <immintrin.h>

#include "runtime/kernels/gemm/tile_loops.h"
#include "runtime/kernels/round_avx2.h"

namespace tpurun::gemm {
namespace {

struct Avx2Vector {
  static constexpr int kLanes = 8;
  using Type = __m256;
  static Type Zero() { return _mm256_setzero_ps(); }
  static Type Load(const float* from) { return _mm256_loadu_ps(from); }
  static Type Load(const uint16_t* from) {
    const __m128i numbers = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(numbers), 16));
  }
  static Type Broadcast(const float* from) { return _mm256_broadcast_ss(from); }
  static Type FusedMultiplyAdd(Type x, Type y, Type z) { return _mm256_fmadd_ps(x, y, z); }
  static Type MultiplyAddBroadcast(const float* x, Type y, Type z) {
    return FusedMultiplyAdd(Broadcast(x), y, z);
  }
  static Type Add(Type x, Type y) { return _mm256_add_ps(x, y); }
  static void Store(Type x, float* to) { _mm256_storeu_ps(to, x); }
  static Type LoadPart(const float* from, int lanes) {
    alignas(32) static constexpr int kMask[2 * kLanes] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const auto* const mask = reinterpret_cast<const __m256i*>(kMask + kLanes - lanes);
    return _mm256_maskload_ps(from, _mm256_loadu_si256(mask));
  }
  // Stores of a mask are slow on Zen.
  static void StorePart(Type x, float* to, int lanes) {
    __m128 part = _mm256_castps256_ps128(x);
    if ((lanes & 4) != 0) {
      _mm_storeu_ps(to, part);
      part = _mm256_extractf128_ps(x, 1);
      to += 4;
    }
    if ((lanes & 2) != 0) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
      part = _mm_movehl_ps(part, part);
      to += 2;
    }
    if ((lanes & 1) != 0) _mm_store_ss(to, part);
  }
  static void StoreRounded(Type x, uint16_t* to, int lanes) {
    const __m128i halves = LowerHalves(RoundedLanes(x));
    if (lanes == kLanes) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
    alignas(16) uint16_t all[kLanes];
    _mm_store_si128(reinterpret_cast<__m128i*>(all), halves);
    for (int i = 0; i < lanes; ++i) to[i] = all[i];
  }
};
constexpr int kLanes = Avx2Vector::kLanes;

// 8 x 8 floats, transposed in registers.
void TransposeBlock(const float* from, int64_t from_row, float* to, int64_t to_row) {
  __m256 rows[kLanes], pairs[kLanes], quads[kLanes];
  for (int r = 0; r < kLanes; ++r) rows[r] = _mm256_loadu_ps(from + r * from_row);
  for (int r = 0; r < kLanes; r += 2) {
    pairs[r] = _mm256_unpacklo_ps(rows[r], rows[r + 1]);
    pairs[r + 1] = _mm256_unpackhi_ps(rows[r], rows[r + 1]);
  }
  for (int r = 0; r < kLanes; r += 4) {
    quads[r] = _mm256_shuffle_ps(pairs[r], pairs[r + 2], 0x44);
    quads[r + 1] = _mm256_shuffle_ps(pairs[r], pairs[r + 2], 0xee);
    quads[r + 2] = _mm256_shuffle_ps(pairs[r + 1], pairs[r + 3], 0x44);
    quads[r + 3] = _mm256_shuffle_ps(pairs[r + 1], pairs[r + 3], 0xee);
  }
  for (int c = 0; c < kLanes / 2; ++c) {
    _mm256_storeu_ps(to + c * to_row, _mm256_permute2f128_ps(quads[c], quads[c + 4], 0x20));
    _mm256_storeu_ps(to + (c + 4) * to_row, _mm256_permute2f128_ps(quads[c], quads[c + 4], 0x31));
  }
}

void Transpose(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
               int64_t to_row) {
  const int64_t whole_rows = rows / kLanes * kLanes, whole_columns = columns / kLanes * kLanes;
  for (int64_t r = 0; r < whole_rows; r += kLanes) {
    for (int64_t c = 0; c < whole_columns; c += kLanes)
      TransposeBlock(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      to[c * to_row + r] = from[r * from_row + c];
  }
}

constexpr Tiles MakeAvx2Tiles() {
  Tiles tiles{.lanes = kLanes, .transpose = Transpose};
  SetTiles<Avx2Vector, 3, 4>(tiles);
  SetTiles<Avx2Vector, 2, 6>(tiles);
  SetTiles<Avx2Vector, 1, 8>(tiles);
  return tiles;
}

}  // namespace

constinit const Tiles kAvx2Tiles = MakeAvx2Tiles();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
