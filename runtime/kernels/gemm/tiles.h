// The innermost loops of a matrix product: a tile of z that stays in vector registers. One file per
// instruction set (tiles_avx2.cc) is compiled with that instruction set's own options. It therefore
// includes no header whose inline functions other files share.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_TILES_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_TILES_H_

#include <cstdint>

namespace tpurun::gemm {

// A tile: some rows of z, and columns that fill some vectors; the last vector may be filled in
// part. An element of x and y is a float, or Tiles::numbers bf16 numbers of rising k, the first of
// them in the upper half, or in the lower one (Tiles::as_in_memory).
struct TileArgs {
  // Element (row r, depth k) of x is x[r * x_row + k], or x[k * x_depth + r] for an interleaved
  // tile.
  const float* x = nullptr;
  int64_t x_row = 0;
  int64_t x_depth = 0;
  // Element (depth k, column c) of y is y[k * y_depth + c].
  const float* y = nullptr;
  int64_t y_depth = 0;
  int64_t depth = 0;  // number of k
  // `depth` k, so many times. y goes on behind the last k; x_jump is from behind the last x to the
  // first of the next time.
  int64_t repeats = 1;
  int64_t x_jump = 0;
  // The sums go on with num_more further x, y and repeats, of the same depth and x_jump, without
  // being stored between them. Not of tiles whose row_unit is above 1.
  struct Run {
    const float* x = nullptr;
    const float* y = nullptr;
    int64_t repeats = 1;
  };
  const Run* more = nullptr;
  int64_t num_more = 0;
  // Element (row r, column c) of z is z[r * z_row + c].
  float* z = nullptr;
  int64_t z_row = 0;
  // If given, the sums are rounded to bf16 (BFloat16Bits) and stored here instead of in z: element
  // (row r, column c) is rounded[r * rounded_row + c].
  uint16_t* rounded = nullptr;
  int64_t rounded_row = 0;
  // The tile below in z or in `rounded`, usually the next one that is stored. It is read ahead of
  // time, as if it had the rows and columns of this one; nullptr: none.
  const void* next = nullptr;
  bool accumulates = false;     // the sums start with z
  const float* bias = nullptr;  // added to the complete sums; nullptr: none
  int last_lanes = 0;           // columns of z in the last vector, 1 to Tiles::lanes
};

inline constexpr int kMostVectors = 3;
inline constexpr int kMostRows = 32;

struct Tiles {
  int lanes = 0;    // floats of a vector
  int numbers = 1;  // of an element of x and y, see TileArgs; 1: f32
  // True if the first number of an element is in its lower half: contiguous numbers are elements.
  bool as_in_memory = false;
  int most_vectors = kMostVectors;  // of columns of the largest tile
  int block_rows = 192;             // rows of a block of x, at most (gemm.cc)
  int block_depth = 256;            // elements along k of a block of so many rows, at most
  // Elements along k that are summed at once. Blocks of x and parts of a triangle begin at
  // multiples of it, so that the bits of a sum do not depend on them.
  int depth_unit = 1;
  // The rows of a tile are read in such units. With more than one there are no interleaved tiles,
  // and the rows behind the last one need not be set.
  int row_unit = 1;
  // If given, called by a thread before its first and after its last tile.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  // [vectors]: the rows of the largest tile with so many vectors of columns; no less with fewer
  // vectors, as the tiles of the last columns may have the rows of wider ones
  int most_rows[kMostVectors + 1] = {};
  // [vectors][rows]
  void (*of_rows[kMostVectors + 1][kMostRows + 1])(const TileArgs&) = {};
  void (*interleaved[kMostVectors + 1][kMostRows + 1])(const TileArgs&) = {};
  // [rows]: copies `depth` rows of `tiles` times `rows` floats. Those of tile t in row k are at
  // from + k * from_row + t * rows, and go to to + t * tile_stride + k * rows.
  void (*spread[kMostRows + 1])(const float* from, int64_t from_row, int64_t depth, int64_t tiles,
                                int64_t tile_stride, float* to) = {};
  // [vectors]: the same for tiles of so many vectors, where an element is one number
  void (*spread_vectors[kMostVectors + 1])(const float* from, int64_t from_row, int64_t depth,
                                           int64_t tiles, int64_t tile_stride, float* to) = {};
  // the same from bf16 numbers, which become f32
  void (*spread_vectors_bf16[kMostVectors + 1])(const uint16_t* from, int64_t from_row,
                                                int64_t depth, int64_t tiles, int64_t tile_stride,
                                                float* to) = {};
  // For bf16 numbers, to pack elements. The numbers of f32 are rounded to the nearest. n numbers,
  // one after the other, become (n + 1) / 2 elements, the last of an odd n with a 0 behind it.
  void (*pair_neighbours_f32)(const float* from, int64_t n, float* to) = nullptr;
  void (*pair_neighbours_bf16)(const uint16_t* from, int64_t n, float* to) = nullptr;
  // n numbers of two rows become n elements. Where one of the rows is missing, its numbers are 0.
  void (*pair_rows_f32)(const float* first, const float* second, int64_t n, float* to) = nullptr;
  void (*pair_rows_bf16)(const uint16_t* first, const uint16_t* second, int64_t n,
                         float* to) = nullptr;
  // n numbers of each of `rows` rows become n elements of (rows + 1) / 2 rows, the last of an odd
  // number of rows with zeros behind it. Rows begin `from_row` numbers and `to_row` floats apart.
  void (*pair_all_rows_f32)(const float* from, int64_t from_row, int64_t rows, int64_t n, float* to,
                            int64_t to_row) = nullptr;
  void (*pair_all_rows_bf16)(const uint16_t* from, int64_t from_row, int64_t rows, int64_t n,
                             float* to, int64_t to_row) = nullptr;
  // to[c * to_row + r] = from[r * from_row + c]. rows and columns need not be multiples of lanes.
  void (*transpose)(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                    int64_t to_row) = nullptr;
};

// Constants, so that no code runs when the program starts: the processor may lack the instructions.
extern const Tiles kPlainTiles;
extern const Tiles kAvx2Tiles;            // for processors with AVX2 and FMA
extern const Tiles kAvx512Tiles;          // for AVX-512: F, DQ, BW and VL
extern const Tiles kAvx512BFloat16Tiles;  // for AVX-512 and AVX512_BF16; numbers is 2
extern const Tiles kAmxBFloat16Tiles;     // for AMX_BF16 besides; numbers is 2

}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_TILES_H_
