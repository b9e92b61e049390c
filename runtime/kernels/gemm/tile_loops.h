// The loops of a tile for any vector type, for the files of the instruction sets alone. Each of
// them defines `Vector` in an unnamed namespace, so that no two share an instance of these
// templates:
//
//   struct Vector {
//     static constexpr int kLanes;
//     using Type;                            // kLanes floats
//     static Type Zero(), Load(const float*), Broadcast(const float*);
//     static Type Load(const uint16_t*);  // of bf16 numbers
//     static Type FusedMultiplyAdd(Type x, Type y, Type z);  // x y + z
//     // The same for an x that is broadcast and not used again.
//     static Type MultiplyAddBroadcast(const float* x, Type y, Type z);
//     static Type Add(Type, Type);
//     static void Store(Type, float*);
//     // The first `lanes` floats, 1 to kLanes - 1. No other is read or written.
//     static Type LoadPart(const float*, int lanes);
//     static void StorePart(Type, float*, int lanes);
//     // The first `lanes` floats, 1 to kLanes, rounded to bf16 (BFloat16Bits).
//     static void StoreRounded(Type, uint16_t*, int lanes);
//   };
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_TILE_LOOPS_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_TILE_LOOPS_H_

#include "runtime/kernels/gemm/tiles.h"

// Loops over a tile are unrolled by order: only then does GCC 12 keep the sums in registers. Each
// file of an instruction set undefines the macro at its end.
#define TPURUN_UNROLL _Pragma("GCC unroll 16")

namespace tpurun::gemm {

template <typename Vector>
typename Vector::Type LoadLanes(const float* from, int lanes) {
  return lanes == Vector::kLanes ? Vector::Load(from) : Vector::LoadPart(from, lanes);
}

// Has the processor read `bytes` of each row ahead of time. This is straight code among a tile's
// first instructions, and does not delay them. Loops between the tiles did (AVX2 on a Zen 3:
// 1024 x 128 x 512 92.9, now 94.1 GFLOP/s, 128 x 64 x 128 85.7, now 86.7). Always inlined, like
// PrefetchNext: no two files share a copy.
template <int rows, int bytes>
[[gnu::always_inline]] inline void PrefetchTile(const void* data, int64_t stride) {
  constexpr int kCacheLine = 64;
  const char* row = static_cast<const char*>(data);
  TPURUN_UNROLL for (int r = 0; r < rows; ++r, row += stride) {
    TPURUN_UNROLL for (int byte = 0; byte < bytes; byte += kCacheLine)
        __builtin_prefetch(row + byte);
    __builtin_prefetch(row + bytes - 1);
  }
}

template <int rows, int columns>
[[gnu::always_inline]] inline void PrefetchNext(const TileArgs& tile) {
  constexpr int kBFloat16Bytes = 2, kFloatBytes = 4;
  if (tile.next == nullptr) return;
  if (tile.rounded != nullptr) {
    PrefetchTile<rows, kBFloat16Bytes * columns>(tile.next, kBFloat16Bytes * tile.rounded_row);
  } else {
    PrefetchTile<rows, kFloatBytes * columns>(tile.next, kFloatBytes * tile.z_row);
  }
}

template <typename Vector, int rows, int vectors, bool interleaved>
void RunTile(const TileArgs& tile) {
  constexpr int kLanes = Vector::kLanes;
  const float* x = tile.x;
  const float* y = tile.y;
  float* const z = tile.z;
  const float* const bias = tile.bias;
  const int64_t x_row = interleaved ? 1 : tile.x_row, x_depth = interleaved ? tile.x_depth : 1;
  const int64_t y_depth = tile.y_depth, z_row = tile.z_row, depth = tile.depth;
  const bool accumulates = tile.accumulates;
  const auto lanes = [last = tile.last_lanes](int v) { return v + 1 < vectors ? kLanes : last; };
  typename Vector::Type sums[rows][vectors];
  TPURUN_UNROLL for (int r = 0; r < rows; ++r) {
    TPURUN_UNROLL for (int v = 0; v < vectors; ++v) sums[r][v] =
        accumulates ? LoadLanes<Vector>(z + r * z_row + v * kLanes, lanes(v)) : Vector::Zero();
  }
  PrefetchNext<rows, vectors * kLanes>(tile);
  int64_t repeats = tile.repeats;
  for (const TileArgs::Run *run = tile.more, *const end = run + tile.num_more;; ++run) {
    for (int64_t repeat = 0; repeat < repeats; ++repeat, x += tile.x_jump) {
      // Twice: 1024 x 128 x 512 with AVX2 on a Zen 3 90.6, now 92.9 GFLOP/s, K of 512 as before.
#pragma GCC unroll 2
      for (int64_t k = 0; k < depth; ++k) {
        typename Vector::Type right[vectors];
        TPURUN_UNROLL for (int v = 0; v < vectors; ++v) right[v] = Vector::Load(y + v * kLanes);
        TPURUN_UNROLL for (int r = 0; r < rows; ++r) {
          if constexpr (vectors == 1) {
            sums[r][0] = Vector::MultiplyAddBroadcast(x + r * x_row, right[0], sums[r][0]);
            continue;
          }
          const typename Vector::Type left = Vector::Broadcast(x + r * x_row);
          TPURUN_UNROLL for (int v = 0; v < vectors; ++v) sums[r][v] =
              Vector::FusedMultiplyAdd(left, right[v], sums[r][v]);
        }
        x += x_depth;
        y += y_depth;
      }
    }
    if (run == end) break;
    x = run->x;
    y = run->y;
    repeats = run->repeats;
  }
  TPURUN_UNROLL for (int v = 0; v < vectors; ++v) {
    if (bias == nullptr) continue;
    const typename Vector::Type added = LoadLanes<Vector>(bias + v * kLanes, lanes(v));
    TPURUN_UNROLL for (int r = 0; r < rows; ++r) sums[r][v] = Vector::Add(sums[r][v], added);
  }
  if (uint16_t* const rounded = tile.rounded; rounded != nullptr) {
    const int64_t rounded_row = tile.rounded_row;
    TPURUN_UNROLL for (int r = 0; r < rows; ++r) {
      TPURUN_UNROLL for (int v = 0; v < vectors; ++v)
          Vector::StoreRounded(sums[r][v], rounded + r * rounded_row + v * kLanes, lanes(v));
    }
    return;
  }
  TPURUN_UNROLL for (int r = 0; r < rows; ++r) {
    TPURUN_UNROLL for (int v = 0; v < vectors; ++v) {
      float* const to = z + r * z_row + v * kLanes;
      if (lanes(v) == kLanes) {
        Vector::Store(sums[r][v], to);
      } else {
        Vector::StorePart(sums[r][v], to, lanes(v));
      }
    }
  }
}

template <typename Vector, int rows>
void Spread(const float* from, int64_t from_row, int64_t depth, int64_t tiles, int64_t tile_stride,
            float* to) {
  for (int64_t t = 0; t < tiles; ++t) {
    for (int64_t k = 0; k < depth; ++k) {
      // Of one size: two or three moves. GCC 12 makes single floats of a loop.
      __builtin_memcpy(to + t * tile_stride + k * rows, from + k * from_row + t * rows,
                       rows * sizeof(float));
    }
  }
}

template <typename Vector, int vectors, typename Number>
void SpreadVectors(const Number* from, int64_t from_row, int64_t depth, int64_t tiles,
                   int64_t tile_stride, float* to) {
  constexpr int kLanes = Vector::kLanes;
  for (int64_t t = 0; t < tiles; ++t) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int v = 0; v < vectors; ++v) {
        Vector::Store(Vector::Load(from + k * from_row + (t * vectors + v) * kLanes),
                      to + t * tile_stride + (k * vectors + v) * kLanes);
      }
    }
  }
}

// The tiles of `vectors` vectors and of at most `rows` rows.
template <typename Vector, int vectors, int rows>
constexpr void SetTiles(Tiles& tiles) {
  tiles.most_rows[vectors] = tiles.most_rows[vectors] < rows ? rows : tiles.most_rows[vectors];
  tiles.of_rows[vectors][rows] = RunTile<Vector, rows, vectors, false>;
  tiles.interleaved[vectors][rows] = RunTile<Vector, rows, vectors, true>;
  tiles.spread[rows] = Spread<Vector, rows>;
  tiles.spread_vectors[vectors] = SpreadVectors<Vector, vectors, float>;
  tiles.spread_vectors_bf16[vectors] = SpreadVectors<Vector, vectors, uint16_t>;
  if constexpr (rows > 1) SetTiles<Vector, vectors, rows - 1>(tiles);
}

}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_TILE_LOOPS_H_
