#include "runtime/ir/sum_rows.h"

#include <algorithm>
#include <array>

#include "runtime/base/clones.h"
#include "runtime/ir/typed_values.h"

namespace tpurun {
namespace {

// Columns at a time: kWidestTile, 512 bytes of a row, or a half of it, a quarter and so on. They do
// not change bits. The widest comes first, and the rows of whole tiles are read ahead of time
// (f32[8192, 512] with AVX2: 32 columns 7 GB/s, 128 columns 14, and read ahead 18. Worker time of
// batch_norm_grad and moments in a step of resnet50, in bf16 with AVX-512: 128 columns 49 and 31
// ms, 256 columns 38 and 27).
template <typename T>
constexpr int64_t kWidestTile = 512 / sizeof(T);
constexpr int64_t kNarrowestTile = 16;
// Blocks of rows that are summed at a time where the tile is narrow, which reads from so many
// places of the memory at once (f32[262144, 16]: 1 block 10 GB/s, 4 blocks 13). Nor do they change
// bits.
constexpr int64_t kManyBlocks = 4;

// Of several blocks: those of the first subtree.
constexpr int64_t BlocksAbove(int64_t blocks) { return (blocks + 1) / 2; }

// Rows, of one block or more, with the columns of a tile.
struct Block {
  int64_t at;      // index of the first element
  int64_t column;  // the first column, counted from the first summed column
  int64_t rows;
  int64_t columns;  // number of columns of the whole array
  int64_t tile;     // columns; fewer than kTile only where that is the narrowest tile
};

// Has the processor read the tile of a later row, 4 KB of tiles ahead or less: it foresees the next
// bytes of a row, not the next row. (Of 8 to 64 rows, 8 were best for 128 columns of f32, 16 for 64
// and 32.)
template <int64_t kTile, typename T>
[[gnu::always_inline]] inline void ReadAhead(const T* row, int64_t columns) {
  constexpr int64_t kRows = kTile == kWidestTile<T> ? 8 : 16, kLine = 64 / sizeof(T);
  for (int64_t c = 0; c < kTile; c += kLine) __builtin_prefetch(row + kRows * columns + c);
}

// sums[c] = the sum over r of of(index, 0, c), where index is that of element (r, c) of the block.
// The sums of a whole tile are an array of their own, so that they stay in registers. x is the
// first element of the block, whose rows are read ahead.
template <int64_t kTile, typename T, typename Of>
[[gnu::always_inline]] inline void SumWideTile(const Block& block, const T* x, float* sums, Of of) {
  static_assert(kTile > kNarrowestTile);
  float sum[kTile] = {};
  for (int64_t r = 0; r < block.rows; ++r) {
    ReadAhead<kTile>(x + r * block.columns, block.columns);
#pragma GCC ivdep
    for (int64_t c = 0; c < kTile; ++c) sum[c] += of(r * block.columns + c, 0, c);
  }
  std::copy_n(sum, kTile, sums);
}

// The same for the narrowest tile, or a part of one. Of a part, all rows but the last ones are read
// as whole tiles, with the columns or the row behind them: those sums are not used, but `of` is
// called for them. GCC 12 would keep sums in memory if it unrolled the loop over so few columns.
template <typename T, typename Of>
[[gnu::always_inline]] inline void SumNarrowTile(const Block& block, const T* x, float* sums,
                                                 Of of) {
  const int64_t last = (block.rows - 1) * block.columns + block.tile - kNarrowestTile;
  float sum[kNarrowestTile] = {};
  int64_t r = 0;
  for (; r * block.columns <= last; ++r) {
    ReadAhead<kNarrowestTile>(x + r * block.columns, block.columns);
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int64_t c = 0; c < kNarrowestTile; ++c) sum[c] += of(r * block.columns + c, 0, c);
  }
  std::copy_n(sum, block.tile, sums);
  for (; r < block.rows; ++r) {
    for (int64_t c = 0; c < block.tile; ++c) sums[c] += of(r * block.columns + c, 0, c);
  }
}

// The sums of each block b of kManyBlocks, of of(index, b, c): its sums begin at sums + b *
// to_block.
template <int64_t kTile, typename T, typename Of>
[[gnu::always_inline]] inline void SumManyBlocks(const Block& block, const T* x, float* sums,
                                                 int64_t to_block, Of of) {
  static_assert(kManyBlocks == 4);
  const int64_t step = kRowBlock * block.columns;
  float sum0[kTile] = {}, sum1[kTile] = {}, sum2[kTile] = {}, sum3[kTile] = {};
  for (int64_t r = 0, at = 0; r < kRowBlock; ++r, at += block.columns) {
    for (int64_t b = 0; b < kManyBlocks; ++b) ReadAhead<kTile>(x + at + b * step, block.columns);
#pragma GCC ivdep
    for (int64_t c = 0; c < kTile; ++c) {
      sum0[c] += of(at + c, 0, c);
      sum1[c] += of(at + step + c, 1, c);
      sum2[c] += of(at + 2 * step + c, 2, c);
      sum3[c] += of(at + 3 * step + c, 3, c);
    }
  }
  std::copy_n(sum0, kTile, sums);
  std::copy_n(sum1, kTile, sums + to_block);
  std::copy_n(sum2, kTile, sums + 2 * to_block);
  std::copy_n(sum3, kTile, sums + 3 * to_block);
}

template <int64_t kTile, int64_t kBlocks, typename T, typename Of>
[[gnu::always_inline]] inline void SumBlocks(const Block& block, const T* x, float* sums,
                                             int64_t to_block, Of of) {
  if constexpr (kBlocks > 1) {
    SumManyBlocks<kTile>(block, x, sums, to_block, of);
  } else if constexpr (kTile > kNarrowestTile) {
    SumWideTile<kTile>(block, x, sums, of);
  } else {
    SumNarrowTile(block, x, sums, of);
  }
}

// Sums for the columns of a tile: kSums of each, [sum][column].
template <int kSums, int64_t kTile>
using TileSums = std::array<float, kSums * kTile>;

// sums += below, which is of the rows after those of sums.
struct AddSums {
  template <int kSums, int64_t kTile>
  void operator()(const float* below, int64_t, int64_t, float* sums) const {
    for (int64_t i = 0; i < kSums * kTile; ++i) sums[i] += below[i];
  }
};

template <int kSums, int64_t kTile, typename SumBlocksOf, typename Add>
void SumTile(const Block& block, const SumBlocksOf& sum_blocks, Add add, float* sums) {
  if (block.rows <= kRowBlock) return sum_blocks.template operator()<kTile, 1>(block, sums);
  const auto add_below = [add](const float* below, int64_t above_rows, int64_t below_rows,
                               float* above) {
    add.template operator()<kSums, kTile>(below, above_rows, below_rows, above);
  };
  if constexpr (kTile == kNarrowestTile) {
    if (block.rows == kManyBlocks * kRowBlock && block.tile == kTile) {
      TileSums<kSums, kTile> of_blocks[kManyBlocks];
      sum_blocks.template operator()<kTile, kManyBlocks>(block, of_blocks[0].data());
      add_below(of_blocks[1].data(), kRowBlock, kRowBlock, of_blocks[0].data());
      add_below(of_blocks[3].data(), kRowBlock, kRowBlock, of_blocks[2].data());
      add_below(of_blocks[2].data(), 2 * kRowBlock, 2 * kRowBlock, of_blocks[0].data());
      std::copy_n(of_blocks[0].data(), kSums * kTile, sums);
      return;
    }
  }
  const int64_t blocks = (block.rows + kRowBlock - 1) / kRowBlock;
  Block above = block, below = block;
  above.rows = BlocksAbove(blocks) * kRowBlock;
  below.rows = block.rows - above.rows;
  below.at += above.rows * block.columns;
  TileSums<kSums, kTile> sums_below = {};
  SumTile<kSums, kTile>(above, sum_blocks, add, sums);
  SumTile<kSums, kTile>(below, sum_blocks, add, sums_below.data());
  add_below(sums_below.data(), above.rows, below.rows, sums);
}

// A two-dimensional array's columns [begin, end).
struct Columns {
  int64_t rows, columns, begin, end;
};

// Of the column where the next tile begins, and of those behind it.
template <int kSums, int64_t kTile, typename SumBlocksOf, typename Add>
void SumTilesFrom(int64_t column, const Columns& of, const std::array<float*, kSums>& sums,
                  const SumBlocksOf& sum_blocks, Add add) {
  for (int64_t tile = 0; column < of.end; column += tile) {
    tile = std::min(of.end - column, kTile);
    if constexpr (kTile > kNarrowestTile) {
      if (tile < kTile) return SumTilesFrom<kSums, kTile / 2>(column, of, sums, sum_blocks, add);
    }
    const Block block = {.at = column,
                         .column = column - of.begin,
                         .rows = of.rows,
                         .columns = of.columns,
                         .tile = tile};
    TileSums<kSums, kTile> of_tile = {};
    SumTile<kSums, kTile>(block, sum_blocks, add, of_tile.data());
    for (int s = 0; s < kSums; ++s) {
      if (sums[s] == nullptr) continue;
      std::copy_n(of_tile.data() + s * kTile, tile, sums[s] + block.column);
    }
  }
}

// sum_blocks.operator()<kTile, kBlocks>(block, sums) sums kBlocks blocks, one of at most kRowBlock
// rows or kManyBlocks of kRowBlock rows each, to a TileSums of its own each. T is the type of the
// array that is read ahead.
template <typename T, int kSums, typename SumBlocksOf, typename Add = AddSums>
void SumTiles(const Columns& of, const std::array<float*, kSums>& sums,
              const SumBlocksOf& sum_blocks, Add add = {}) {
  SumTilesFrom<kSums, kWidestTile<T>>(of.begin, of, sums, sum_blocks, add);
}

// The squares of a set of rows about its mean, from those of two parts about theirs.
inline float MergedSquares(float sum, float squares, int64_t count, float other_sum,
                           float other_squares, int64_t other_count) {
  const float n = static_cast<float>(count), other_n = static_cast<float>(other_count);
  const float distance = other_sum / other_n - sum / n;
  return squares + other_squares + distance * distance * (n * other_n / (n + other_n));
}

struct AddMoments {
  template <int kSums, int64_t kTile>
  void operator()(const float* below, int64_t above_rows, int64_t below_rows, float* sums) const {
    static_assert(kSums == 2);
    for (int64_t c = 0; c < kTile; ++c) {
      float& squares = sums[kTile + c];
      squares = MergedSquares(sums[c], squares, above_rows, below[c], below[kTile + c], below_rows);
      sums[c] += below[c];
    }
  }
};

// Adds all blocks to the first one. There is at least one.
void AddBlocks(float* of_blocks, int64_t blocks, int64_t columns) {
  if (blocks == 1) return;
  const int64_t above = BlocksAbove(blocks);
  float* const below = of_blocks + above * columns;
  AddBlocks(of_blocks, above, columns);
  AddBlocks(below, blocks - above, columns);
#pragma GCC ivdep
  for (int64_t c = 0; c < columns; ++c) of_blocks[c] += below[c];
}

}  // namespace

void DivideSums(const OpCall& call, OpFlags& flags) {
  constexpr int64_t kLargeElements = 64 * 1024;  // read in about 20 microseconds, as f32
  if (call.operands[0].num_elements() >= kLargeElements) flags.unit = WorkUnit::kColumns;
}

template <typename T>
void SumRows(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums) {
  const auto sum_blocks = [x]<int64_t kTile, int64_t kBlocks>(const Block& block, float* to) {
    RunCloned([ x, block, to ]() __attribute__((always_inline)) {
      const T* const from = x + block.at;
      SumBlocks<kTile, kBlocks>(block, from, to, kTile,
                                [from](int64_t i, int64_t, int64_t) { return NumberOf(from[i]); });
    });
  };
  SumTiles<T, 1>({rows, columns, begin, end}, {sums}, sum_blocks);
}

template <typename T, typename U>
void SumCentered(const T* y, const U* x, const float* center, int64_t rows, int64_t columns,
                 int64_t begin, int64_t end, float* sums, float* centered) {
  const auto sum_blocks = [y, x, center]<int64_t kTile, int64_t kBlocks>(const Block& block,
                                                                         float* to) {
    RunCloned([ y, x, center, block, to ]() __attribute__((always_inline)) {
      const T* const from_y = y + block.at;
      const U* const from_x = x + block.at;
      float middle[kTile] = {};  // a part of a tile is read as a whole one
      std::copy_n(center + block.column, block.tile, middle);
      SumBlocks<kTile, kBlocks>(
          block, from_y, to, 2 * kTile,
          [from_y](int64_t i, int64_t, int64_t) { return NumberOf(from_y[i]); });
      SumBlocks<kTile, kBlocks>(
          block, from_x, to + kTile, 2 * kTile,
          [from_y, from_x, middle = &middle[0]](int64_t i, int64_t, int64_t c) {
            return NumberOf(from_y[i]) * (NumberOf(from_x[i]) - middle[c]);
          });
    });
  };
  SumTiles<T, 2>({rows, columns, begin, end}, {sums, centered}, sum_blocks);
}

template <typename T>
void SumMoments(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums,
                float* squares) {
  const auto sum_blocks = [x]<int64_t kTile, int64_t kBlocks>(const Block& block, float* to) {
    RunCloned([ x, block, to ]() __attribute__((always_inline)) {
      const T* const from = x + block.at;
      SumBlocks<kTile, kBlocks>(block, from, to, 2 * kTile,
                                [from](int64_t i, int64_t, int64_t) { return NumberOf(from[i]); });
      const float block_rows = static_cast<float>(block.rows / kBlocks);
      float mean[kBlocks * kTile];
      for (int64_t b = 0; b < kBlocks; ++b) {
        for (int64_t c = 0; c < kTile; ++c)
          mean[b * kTile + c] = to[2 * b * kTile + c] / block_rows;
      }
      SumBlocks<kTile, kBlocks>(block, from, to + kTile, 2 * kTile,
                                [from, middle = &mean[0]](int64_t i, int64_t b, int64_t c) {
                                  const float distance = NumberOf(from[i]) - middle[b * kTile + c];
                                  return distance * distance;
                                });
    });
  };
  SumTiles<T, 2>({rows, columns, begin, end}, {sums, squares}, sum_blocks, AddMoments{});
}

template <typename T>
void AddRowsOfBlock(const T* x, int64_t rows, int64_t columns, float* sums) {
  constexpr int64_t kTile = 64;  // columns whose sums stay in registers
  RunCloned([ x, rows, columns, sums ]() __attribute__((always_inline)) {
    int64_t c = 0;
    for (; c + kTile <= columns; c += kTile) {
      float sum[kTile];
      std::copy_n(sums + c, kTile, sum);
      for (int64_t r = 0; r < rows; ++r) {
        const T* const row = x + r * columns + c;
#pragma GCC ivdep
        for (int64_t i = 0; i < kTile; ++i) sum[i] += NumberOf(row[i]);
      }
      std::copy_n(sum, kTile, sums + c);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = c; i < columns; ++i) sums[i] += NumberOf(x[r * columns + i]);
    }
  });
}

void SumBlocksOfRows(float* of_blocks, int64_t blocks, int64_t columns, float* sums) {
  AddBlocks(of_blocks, blocks, columns);
  std::copy_n(of_blocks, columns, sums);
}

using BF16Bits = uint16_t;
template void AddRowsOfBlock(const float*, int64_t, int64_t, float*);
template void AddRowsOfBlock(const BF16Bits*, int64_t, int64_t, float*);
template void SumRows(const float*, int64_t, int64_t, int64_t, int64_t, float*);
template void SumRows(const BF16Bits*, int64_t, int64_t, int64_t, int64_t, float*);
template void SumCentered(const float*, const float*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*, float*);
template void SumCentered(const float*, const BF16Bits*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*, float*);
template void SumCentered(const BF16Bits*, const float*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*, float*);
template void SumCentered(const BF16Bits*, const BF16Bits*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*, float*);
template void SumMoments(const float*, int64_t, int64_t, int64_t, int64_t, float*, float*);
template void SumMoments(const BF16Bits*, int64_t, int64_t, int64_t, int64_t, float*, float*);

}  // namespace tpurun
