// Tiles of pairs of bf16 numbers, for AMX.
//
// A tile register holds 16 rows of 16 elements. tdpbf16ps adds the products of 16 elements along k
// (32 numbers) to 16 x 16 sums: those of the upper numbers and those of the lower numbers one after
// the other, then the two sums to each other, then to z (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 2). The bits of a sum therefore depend on k alone, as long as the
// units of 16 elements begin at the same k. Subnormal numbers are 0.
#include "runtime/kernels/gemm/avx512_vector.h"
#include "runtime/kernels/gemm/bf16_pairs.h"

namespace tpurun::gemm {
namespace {

constexpr int kUnit = 16;  // rows of a tile register, and elements of its rows
constexpr int64_t kFloatBytes = sizeof(float);

// The registers: sums 0 to 3 of row tile r and vector v in 2 r + v, row tiles of x in 4 and 5,
// vectors of y in 6 and 7.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration kConfiguration;

// GCC 12 does not know which memory the instructions of tiles read and write.
inline void MemoryBarrier() { asm volatile("" : : : "memory"); }

void Begin() { _tile_loadconfig(&kConfiguration); }
void End() { _tile_release(); }

template <int row_tiles, int vectors>
void ZeroSums() {
  _tile_zero(0);
  if constexpr (vectors > 1) _tile_zero(1);
  if constexpr (row_tiles > 1) _tile_zero(2);
  if constexpr (row_tiles > 1 && vectors > 1) _tile_zero(3);
}

template <int row_tiles, int vectors>
void LoadSums(const float* from, int64_t row) {
  MemoryBarrier();
  _tile_loadd(0, from, row * kFloatBytes);
  if constexpr (vectors > 1) _tile_loadd(1, from + kUnit, row * kFloatBytes);
  if constexpr (row_tiles > 1) _tile_loadd(2, from + kUnit * row, row * kFloatBytes);
  if constexpr (row_tiles > 1 && vectors > 1)
    _tile_loadd(3, from + kUnit * row + kUnit, row * kFloatBytes);
}

template <int row_tiles, int vectors>
void StoreSums(float* to, int64_t row) {
  _tile_stored(0, to, row * kFloatBytes);
  if constexpr (vectors > 1) _tile_stored(1, to + kUnit, row * kFloatBytes);
  if constexpr (row_tiles > 1) _tile_stored(2, to + kUnit * row, row * kFloatBytes);
  if constexpr (row_tiles > 1 && vectors > 1)
    _tile_stored(3, to + kUnit * row + kUnit, row * kFloatBytes);
  MemoryBarrier();
}

// 16 elements along k.
template <int row_tiles, int vectors>
void MultiplyUnit(const float* x, int64_t x_row, const float* y, int64_t y_depth) {
  _tile_loadd(4, x, x_row * kFloatBytes);
  _tile_loadd(6, y, y_depth * kFloatBytes);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (vectors > 1) {
    _tile_loadd(7, y + kUnit, y_depth * kFloatBytes);
    _tile_dpbf16ps(1, 4, 7);
  }
  if constexpr (row_tiles > 1) {
    _tile_loadd(5, x + kUnit * x_row, x_row * kFloatBytes);
    _tile_dpbf16ps(2, 5, 6);
    if constexpr (vectors > 1) _tile_dpbf16ps(3, 5, 7);
  }
}

// Fewer than 16 elements along k: zeros behind them.
template <int row_tiles, int vectors>
void MultiplyRest(const float* x, int64_t x_row, int rows, const float* y, int64_t y_depth,
                  int depth) {
  alignas(64) float left[row_tiles * kUnit][kUnit];
  alignas(64) float right[kUnit][vectors * kUnit];
  for (int r = 0; r < rows; ++r)
    _mm512_store_ps(left[r], Avx512Vector::LoadPart(x + r * x_row, depth));
  for (int k = 0; k < kUnit; ++k) {
    for (int v = 0; v < vectors; ++v) {
      _mm512_store_ps(&right[k][v * kUnit], k < depth ? _mm512_loadu_ps(y + k * y_depth + v * kUnit)
                                                      : _mm512_setzero_ps());
    }
  }
  MemoryBarrier();
  MultiplyUnit<row_tiles, vectors>(left[0], kUnit, right[0], vectors * kUnit);
  MemoryBarrier();
}

// The rows of z and of the sums that exist, one vector after the other: use(vector of z, of the
// sums, lanes).
template <int vectors, typename Use>
void ForEachVector(const TileArgs& tile, int rows, float* sums, const Use& use) {
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      use(r, v * kUnit, sums + (r * vectors + v) * kUnit,
          v + 1 < vectors ? kUnit : tile.last_lanes);
    }
  }
}

template <int row_tiles, int vectors>
void RunRows(const TileArgs& tile, int rows) {
  constexpr int64_t kSumsRow = vectors * kUnit;
  alignas(64) float sums[row_tiles * kUnit * kSumsRow];
  const bool fits = rows == row_tiles * kUnit && tile.last_lanes == kUnit;
  if (!tile.accumulates) {
    ZeroSums<row_tiles, vectors>();
  } else if (fits) {
    LoadSums<row_tiles, vectors>(tile.z, tile.z_row);
  } else {
    ForEachVector<vectors>(tile, rows, sums, [&](int r, int column, float* sum, int lanes) {
      _mm512_store_ps(sum, Avx512Vector::LoadPart(tile.z + r * tile.z_row + column, lanes));
    });
    LoadSums<row_tiles, vectors>(sums, kSumsRow);
  }
  const float* x = tile.x;
  const float* y = tile.y;
  for (int64_t repeat = 0; repeat < tile.repeats; ++repeat, x += tile.x_jump) {
    int64_t left = tile.depth;
    for (; left >= kUnit; left -= kUnit, x += kUnit, y += kUnit * tile.y_depth)
      MultiplyUnit<row_tiles, vectors>(x, tile.x_row, y, tile.y_depth);
    if (left == 0) continue;
    MultiplyRest<row_tiles, vectors>(x, tile.x_row, rows, y, tile.y_depth, static_cast<int>(left));
    x += left;
    y += left * tile.y_depth;
  }
  if (fits && tile.bias == nullptr && tile.rounded == nullptr)
    return StoreSums<row_tiles, vectors>(tile.z, tile.z_row);
  StoreSums<row_tiles, vectors>(sums, kSumsRow);
  ForEachVector<vectors>(tile, rows, sums, [&](int r, int column, const float* sum, int lanes) {
    __m512 z = _mm512_load_ps(sum);
    if (tile.bias != nullptr)
      z = _mm512_add_ps(z, Avx512Vector::LoadPart(tile.bias + column, lanes));
    if (tile.rounded != nullptr) {
      StoreRoundedLanes(z, tile.rounded + r * tile.rounded_row + column, lanes);
    } else {
      Avx512Vector::StorePart(z, tile.z + r * tile.z_row + column, lanes);
    }
  });
}

template <int rows, int vectors>
void RunAmxTile(const TileArgs& tile) {
  RunRows<(rows + kUnit - 1) / kUnit, vectors>(tile, rows);
}

template <int vectors, int rows>
constexpr void SetAmxTiles(Tiles& tiles) {
  tiles.of_rows[vectors][rows] = RunAmxTile<rows, vectors>;
  if constexpr (rows > 1) SetAmxTiles<vectors, rows - 1>(tiles);
}

// Tiles of 32 x 32 sums in four registers: two loads of x and two of y for four multiplications.
constexpr Tiles MakeAmxTiles() {
  Tiles tiles{.lanes = kUnit,
              .most_vectors = 2,
              .block_rows = 256,
              .block_depth = 512,
              .depth_unit = kUnit,
              .row_unit = kUnit,
              .begin = Begin,
              .end = End,
              .most_rows = {0, 2 * kUnit, 2 * kUnit},
              .transpose = Transpose16};
  SetAmxTiles<1, 2 * kUnit>(tiles);
  SetAmxTiles<2, 2 * kUnit>(tiles);
  SetPairs<true>(tiles);
  return tiles;
}

}  // namespace

constinit const Tiles kAmxBFloat16Tiles = MakeAmxTiles();

}  // namespace tpurun::gemm

#undef TPURUN_UNROLL
