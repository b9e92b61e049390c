#include "runtime/ir/sum_rows.h"

#include <algorithm>
#include <array>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"

namespace tpurun {
namespace {

constexpr int64_t kRowBlock = 64;    // rows that are summed one after the other
constexpr int64_t kColumnTile = 32;  // columns at a time; does not change bits
// Blocks of rows at a time, so that an addition need not wait for the one before; does not change
// bits either.
constexpr int64_t kRowBlocks = 4;
constexpr int64_t kBlockColumns = 16;  // columns of such blocks at a time

// The position of a block of rows with at most kColumnTile columns.
struct Block {
  int64_t at;      // index of the first element
  int64_t column;  // the first column, counted from the first summed column
  int64_t rows;
  int64_t columns;  // number of columns of the whole array
  int64_t tile;
};

// sums[c] = the sum over r of of(index, c), where index is that of element (r, c) of the block.
template <typename Of>
[[gnu::always_inline]] inline void SumBlock(const Block& block, float* sums, Of of) {
  float sum[kColumnTile] = {};
  if (block.tile == kColumnTile) {
    for (int64_t r = 0; r < block.rows; ++r) {
      for (int64_t c = 0; c < kColumnTile; ++c) sum[c] += of(r * block.columns + c, c);
    }
  } else {
    for (int64_t r = 0; r < block.rows; ++r) {
      for (int64_t c = 0; c < block.tile; ++c) sum[c] += of(r * block.columns + c, c);
    }
  }
  std::copy(sum, sum + block.tile, sums);
}

// The same for kBlockColumns columns of kRowBlocks blocks, whose sums are added in pairs.
template <typename Of>
[[gnu::always_inline]] inline void SumBlocks(const Block& block, float* sums, Of of) {
  const int64_t step = kRowBlock * block.columns;
  int64_t at0 = 0, at1 = step, at2 = 2 * step, at3 = 3 * step;
  float sum0[kBlockColumns] = {}, sum1[kBlockColumns] = {}, sum2[kBlockColumns] = {},
        sum3[kBlockColumns] = {};
  for (int64_t r = 0; r < kRowBlock; ++r) {
#pragma GCC ivdep
    for (int64_t c = 0; c < kBlockColumns; ++c) {
      sum0[c] += of(at0 + c, c);
      sum1[c] += of(at1 + c, c);
      sum2[c] += of(at2 + c, c);
      sum3[c] += of(at3 + c, c);
    }
    at0 += block.columns;
    at1 += block.columns;
    at2 += block.columns;
    at3 += block.columns;
  }
  for (int64_t c = 0; c < kBlockColumns; ++c) sums[c] = (sum0[c] + sum1[c]) + (sum2[c] + sum3[c]);
}

bool HasBlocks(const Block& block) {
  return block.rows == kRowBlocks * kRowBlock && block.tile % kBlockColumns == 0;
}

template <typename Of>
[[gnu::always_inline]] inline void Sum(const Block& block, float* sums, Of of) {
  if (!HasBlocks(block)) return SumBlock(block, sums, of);
  for (int64_t first = 0; first < block.tile; first += kBlockColumns) {
    SumBlocks(block, sums + first, [=](int64_t i, int64_t c) { return of(first + i, first + c); });
  }
}

inline float Number(float x) { return x; }
inline float Number(uint16_t bits) { return FromBFloat16Bits(bits); }

template <typename SumOfBlock>
void SumTile(Block block, float* sums, SumOfBlock sum_of_block) {
  if (block.rows <= kRowBlock || HasBlocks(block)) return sum_of_block(block, sums);
  const int64_t blocks = (block.rows + kRowBlock - 1) / kRowBlock;
  Block above = block, below = block;
  above.rows = (blocks + 1) / 2 * kRowBlock;
  below.rows = block.rows - above.rows;
  below.at += above.rows * block.columns;
  std::array<float, kColumnTile> sums_below;
  SumTile(above, sums, sum_of_block);
  SumTile(below, sums_below.data(), sum_of_block);
  for (int64_t c = 0; c < block.tile; ++c) sums[c] += sums_below[c];
}

template <typename SumOfBlock>
void SumTiles(int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums,
              SumOfBlock sum_of_block) {
  for (int64_t c = begin, tile = 0; c < end; c += tile) {
    tile = end - c >= kColumnTile     ? kColumnTile
           : end - c >= kBlockColumns ? kBlockColumns
                                      : end - c;
    const Block block = {
        .at = c, .column = c - begin, .rows = rows, .columns = columns, .tile = tile};
    SumTile(block, sums + c - begin, sum_of_block);
  }
}

}  // namespace

template <typename T>
void SumRows(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums) {
  SumTiles(rows, columns, begin, end, sums, [x](const Block& block, float* to) {
    RunCloned([ x, block, to ]() __attribute__((always_inline)) {
      const T* const from = x + block.at;
      Sum(block, to, [from](int64_t i, int64_t) { return Number(from[i]); });
    });
  });
}

template <typename T, typename U>
void SumCentered(const T* y, const U* x, const float* center, int64_t rows, int64_t columns,
                 int64_t begin, int64_t end, float* sums) {
  SumTiles(rows, columns, begin, end, sums, [=](const Block& block, float* to) {
    RunCloned([ y, x, center, block, to ]() __attribute__((always_inline)) {
      const T* const from_y = y + block.at;
      const U* const from_x = x + block.at;
      const float* const middle = center + block.column;
      Sum(block, to, [=](int64_t i, int64_t c) {
        return Number(from_y[i]) * (Number(from_x[i]) - middle[c]);
      });
    });
  });
}

template <typename T>
void SumSquares(const T* x, const float* center, int64_t rows, int64_t columns, int64_t begin,
                int64_t end, float* sums) {
  SumTiles(rows, columns, begin, end, sums, [=](const Block& block, float* to) {
    RunCloned([ x, center, block, to ]() __attribute__((always_inline)) {
      const T* const from = x + block.at;
      const float* const middle = center + block.column;
      Sum(block, to, [=](int64_t i, int64_t c) {
        const float distance = Number(from[i]) - middle[c];
        return distance * distance;
      });
    });
  });
}

using BF16Bits = uint16_t;
template void SumRows(const float*, int64_t, int64_t, int64_t, int64_t, float*);
template void SumRows(const BF16Bits*, int64_t, int64_t, int64_t, int64_t, float*);
template void SumCentered(const float*, const float*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*);
template void SumCentered(const float*, const BF16Bits*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*);
template void SumCentered(const BF16Bits*, const float*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*);
template void SumCentered(const BF16Bits*, const BF16Bits*, const float*, int64_t, int64_t, int64_t,
                          int64_t, float*);
template void SumSquares(const float*, const float*, int64_t, int64_t, int64_t, int64_t, float*);
template void SumSquares(const BF16Bits*, const float*, int64_t, int64_t, int64_t, int64_t, float*);

}  // namespace tpurun
