// The vector of the AVX-512 tiles, for their files alone.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_AVX512_VECTOR_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_AVX512_VECTOR_H_

#include <immintrin.h>

#include <cstdint>

#include "runtime/kernels/gemm/tile_loops.h"
#include "runtime/kernels/round_avx512.h"

namespace tpurun::gemm {
namespace {

struct Avx512Vector {
  static constexpr int kLanes = 16;
  using Type = __m512;
  static Type Zero() { return _mm512_setzero_ps(); }
  static Type Load(const float* from) { return _mm512_loadu_ps(from); }
  static Type Load(const uint16_t* from) {
    const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16));
  }
  static Type Broadcast(const float* from) { return _mm512_set1_ps(*from); }
  static Type FusedMultiplyAdd(Type x, Type y, Type z) { return _mm512_fmadd_ps(x, y, z); }
  static Type MultiplyAddBroadcast(const float* x, Type y, Type z) {
    return FusedMultiplyAdd(Broadcast(x), y, z);
  }
  static Type Add(Type x, Type y) { return _mm512_add_ps(x, y); }
  static void Store(Type x, float* to) { _mm512_storeu_ps(to, x); }
  static Type LoadPart(const float* from, int lanes) {
    return _mm512_maskz_loadu_ps(Mask(lanes), from);
  }
  static void StorePart(Type x, float* to, int lanes) { _mm512_mask_storeu_ps(to, Mask(lanes), x); }
  static void StoreRounded(Type x, uint16_t* to, int lanes) {
    StoreHalves(_mm512_cvtepi32_epi16(RoundedLanes(x)), to, lanes);
  }
  static void StoreHalves(__m256i x, uint16_t* to, int lanes) {
    if (lanes == kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
    _mm256_mask_storeu_epi16(to, Mask(lanes), x);
  }
  static __mmask16 Mask(int lanes) { return static_cast<__mmask16>((1u << lanes) - 1); }
};

// to[c * to_row + r] = from[r * from_row + c] for 16 x 16 floats or less.
inline void TransposePart(const float* from, int64_t from_row, int rows, int columns, float* to,
                          int64_t to_row) {
  constexpr int kLanes = Avx512Vector::kLanes;
  const __mmask16 of_columns = Avx512Vector::Mask(columns), of_rows = Avx512Vector::Mask(rows);
  __m512 lines[kLanes], pairs[kLanes], quads[kLanes], halves[kLanes];
  TPURUN_UNROLL for (int r = 0; r < kLanes; ++r) {
    lines[r] =
        r < rows ? _mm512_maskz_loadu_ps(of_columns, from + r * from_row) : _mm512_setzero_ps();
  }
  TPURUN_UNROLL for (int r = 0; r < kLanes; r += 2) {
    pairs[r] = _mm512_unpacklo_ps(lines[r], lines[r + 1]);
    pairs[r + 1] = _mm512_unpackhi_ps(lines[r], lines[r + 1]);
  }
  // quads[4 i + j]: columns j, j + 4, j + 8 and j + 12 of rows 4 i to 4 i + 3
  TPURUN_UNROLL for (int r = 0; r < kLanes; r += 4) {
    quads[r] = _mm512_shuffle_ps(pairs[r], pairs[r + 2], 0x44);
    quads[r + 1] = _mm512_shuffle_ps(pairs[r], pairs[r + 2], 0xee);
    quads[r + 2] = _mm512_shuffle_ps(pairs[r + 1], pairs[r + 3], 0x44);
    quads[r + 3] = _mm512_shuffle_ps(pairs[r + 1], pairs[r + 3], 0xee);
  }
  TPURUN_UNROLL for (int j = 0; j < 4; ++j) {
    // Columns j and j + 8 (low), j + 4 and j + 12 (high) of eight rows.
    TPURUN_UNROLL for (int half = 0; half < 2; ++half) {
      const __m512 above = quads[8 * half + j], below = quads[8 * half + 4 + j];
      halves[4 * half + j] = _mm512_shuffle_f32x4(above, below, 0x88);
      halves[8 + 4 * half + j] = _mm512_shuffle_f32x4(above, below, 0xdd);
    }
  }
  TPURUN_UNROLL for (int c = 0; c < kLanes; ++c) {
    if (c >= columns) break;
    const int j = c % 4, high = c / 4 % 2, upper = c / 8;
    const __m512 above = halves[8 * high + j], below = halves[8 * high + 4 + j];
    const __m512 column =
        upper ? _mm512_shuffle_f32x4(above, below, 0xdd) : _mm512_shuffle_f32x4(above, below, 0x88);
    _mm512_mask_storeu_ps(to + c * to_row, of_rows, column);
  }
}

inline void Transpose16(const float* from, int64_t from_row, int64_t rows, int64_t columns,
                        float* to, int64_t to_row) {
  constexpr int64_t kLanes = Avx512Vector::kLanes;
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int of_rows = static_cast<int>(rows - r < kLanes ? rows - r : kLanes);
    for (int64_t c = 0; c < columns; c += kLanes) {
      const int of_columns = static_cast<int>(columns - c < kLanes ? columns - c : kLanes);
      TransposePart(from + r * from_row + c, from_row, of_rows, of_columns, to + c * to_row + r,
                    to_row);
    }
  }
}

// Tiles of 8 x 48, 14 x 32 and 14 x 16, of 14 to 28 independent sums. 14 rows divide the images of
// common networks.
template <typename Vector>
constexpr Tiles MakeAvx512Tiles() {
  Tiles tiles{.lanes = Vector::kLanes, .block_depth = 512, .transpose = Transpose16};
  SetTiles<Vector, 3, 8>(tiles);
  SetTiles<Vector, 2, 14>(tiles);
  SetTiles<Vector, 1, 14>(tiles);
  return tiles;
}

}  // namespace
}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_AVX512_VECTOR_H_
