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

// Sums for the columns of a tile: kSums of each, [sum][column].
template <int kSums>
using TileSums = std::array<float, kSums * kColumnTile>;

// sums += below, which is of the rows after those of sums.
template <int kSums>
void AddSums(const TileSums<kSums>& below, int64_t, int64_t, TileSums<kSums>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += below[i];
}

template <int kSums, typename SumBlocksOf, typename Add>
void SumTile(const Block& block, TileSums<kSums>& sums, const SumBlocksOf& sum_blocks, Add add) {
  if (block.rows <= kRowBlock || HasBlocks(block)) return sum_blocks(block, sums.data());
  const int64_t blocks = (block.rows + kRowBlock - 1) / kRowBlock;
  Block above = block, below = block;
  above.rows = (blocks + 1) / 2 * kRowBlock;
  below.rows = block.rows - above.rows;
  below.at += above.rows * block.columns;
  TileSums<kSums> sums_below = {};
  SumTile<kSums>(above, sums, sum_blocks, add);
  SumTile<kSums>(below, sums_below, sum_blocks, add);
  add(sums_below, above.rows, below.rows, sums);
}

// sum_blocks(block, sums) sums a block that is not divided further, sums [sum][column].
template <int kSums, typename SumBlocksOf>
void SumTiles(int64_t rows, int64_t columns, int64_t begin, int64_t end,
              const std::array<float*, kSums>& sums, const SumBlocksOf& sum_blocks,
              void (*add)(const TileSums<kSums>&, int64_t, int64_t,
                          TileSums<kSums>&) = AddSums<kSums>) {
  for (int64_t c = begin, tile = 0; c < end; c += tile) {
    tile = end - c >= kColumnTile     ? kColumnTile
           : end - c >= kBlockColumns ? kBlockColumns
                                      : end - c;
    const Block block = {
        .at = c, .column = c - begin, .rows = rows, .columns = columns, .tile = tile};
    TileSums<kSums> of_tile = {};
    SumTile<kSums>(block, of_tile, sum_blocks, add);
    for (int s = 0; s < kSums; ++s) {
      if (sums[s] == nullptr) continue;
      std::copy_n(of_tile.data() + s * kColumnTile, tile, sums[s] + c - begin);
    }
  }
}

// The squares of a set of rows about its mean, from those of two parts about theirs.
inline float MergedSquares(float sum, float squares, int64_t count, float other_sum,
                           float other_squares, int64_t other_count) {
  const float n = static_cast<float>(count), other_n = static_cast<float>(other_count);
  const float distance = other_sum / other_n - sum / n;
  return squares + other_squares + distance * distance * (n * other_n / (n + other_n));
}

void AddMoments(const TileSums<2>& below, int64_t above_rows, int64_t below_rows,
                TileSums<2>& sums) {
  for (int64_t c = 0; c < kColumnTile; ++c) {
    float& squares = sums[kColumnTile + c];
    squares =
        MergedSquares(sums[c], squares, above_rows, below[c], below[kColumnTile + c], below_rows);
    sums[c] += below[c];
  }
}

// The sums and the squares of kBlockColumns columns of kRowBlocks blocks, which are still in a
// cache when they are read again.
template <typename T>
[[gnu::always_inline]] inline void MomentsOfBlocks(const T* x, int64_t columns, float* sums,
                                                   float* squares) {
  const int64_t step = kRowBlock * columns;
  float sum[kRowBlocks][kBlockColumns] = {}, mean[kRowBlocks][kBlockColumns] = {};
  float square[kRowBlocks][kBlockColumns] = {};
  const auto for_each = [&](float(&to)[kRowBlocks][kBlockColumns], auto of)
      __attribute__((always_inline)) {
    float to0[kBlockColumns] = {}, to1[kBlockColumns] = {}, to2[kBlockColumns] = {},
          to3[kBlockColumns] = {};
    const T* from = x;
    for (int64_t r = 0; r < kRowBlock; ++r, from += columns) {
#pragma GCC ivdep
      for (int64_t c = 0; c < kBlockColumns; ++c) {
        to0[c] += of(Number(from[c]), mean[0][c]);
        to1[c] += of(Number(from[step + c]), mean[1][c]);
        to2[c] += of(Number(from[2 * step + c]), mean[2][c]);
        to3[c] += of(Number(from[3 * step + c]), mean[3][c]);
      }
    }
    std::copy_n(to0, kBlockColumns, to[0]);
    std::copy_n(to1, kBlockColumns, to[1]);
    std::copy_n(to2, kBlockColumns, to[2]);
    std::copy_n(to3, kBlockColumns, to[3]);
  };
  for_each(sum, [](float number, float) { return number; });
  for (int64_t b = 0; b < kRowBlocks; ++b) {
    for (int64_t c = 0; c < kBlockColumns; ++c) mean[b][c] = sum[b][c] / float{kRowBlock};
  }
  for_each(square,
           [](float number, float middle) { return (number - middle) * (number - middle); });
  for (int64_t c = 0; c < kBlockColumns; ++c) {
    const auto merge = [](float a, float squares_of_a, float b, float squares_of_b, int64_t rows) {
      return MergedSquares(a, squares_of_a, rows, b, squares_of_b, rows);
    };
    const float above = sum[0][c] + sum[1][c], below = sum[2][c] + sum[3][c];
    squares[c] =
        merge(above, merge(sum[0][c], square[0][c], sum[1][c], square[1][c], kRowBlock), below,
              merge(sum[2][c], square[2][c], sum[3][c], square[3][c], kRowBlock), 2 * kRowBlock);
    sums[c] = above + below;
  }
}

template <typename T>
[[gnu::always_inline]] inline void MomentsOfBlock(const Block& block, const T* x, float* sums,
                                                  float* squares) {
  SumBlock(block, sums, [x](int64_t i, int64_t) { return Number(x[i]); });
  float mean[kColumnTile];
  for (int64_t c = 0; c < block.tile; ++c) mean[c] = sums[c] / static_cast<float>(block.rows);
  SumBlock(block, squares, [x, middle = &mean[0]](int64_t i, int64_t c) {
    const float distance = Number(x[i]) - middle[c];
    return distance * distance;
  });
}

}  // namespace

void DivideSums(const OpCall& call, OpFlags& flags) {
  constexpr int64_t kLargeElements = 64 * 1024;  // read in about 20 microseconds, as f32
  if (call.operands[0].num_elements() >= kLargeElements) flags.unit = WorkUnit::kColumns;
}

template <typename T>
void SumRows(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums) {
  SumTiles<1>(rows, columns, begin, end, {sums}, [x](const Block& block, float* to) {
    RunCloned([ x, block, to ]() __attribute__((always_inline)) {
      const T* const from = x + block.at;
      Sum(block, to, [from](int64_t i, int64_t) { return Number(from[i]); });
    });
  });
}

template <typename T, typename U>
void SumCentered(const T* y, const U* x, const float* center, int64_t rows, int64_t columns,
                 int64_t begin, int64_t end, float* sums, float* centered) {
  SumTiles<2>(rows, columns, begin, end, {sums, centered}, [=](const Block& block, float* to) {
    RunCloned([ y, x, center, block, to ]() __attribute__((always_inline)) {
      const T* const from_y = y + block.at;
      const U* const from_x = x + block.at;
      const float* const middle = center + block.column;
      Sum(block, to, [=](int64_t i, int64_t) { return Number(from_y[i]); });
      Sum(block, to + kColumnTile, [=](int64_t i, int64_t c) {
        return Number(from_y[i]) * (Number(from_x[i]) - middle[c]);
      });
    });
  });
}

template <typename T>
void SumMoments(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums,
                float* squares) {
  const auto sum_blocks = [x](const Block& block, float* to) {
    RunCloned([ x, block, to ]() __attribute__((always_inline)) {
      const T* const from = x + block.at;
      if (!HasBlocks(block)) return MomentsOfBlock(block, from, to, to + kColumnTile);
      for (int64_t first = 0; first < block.tile; first += kBlockColumns)
        MomentsOfBlocks(from + first, block.columns, to + first, to + kColumnTile + first);
    });
  };
  SumTiles<2>(rows, columns, begin, end, {sums, squares}, sum_blocks, AddMoments);
}

using BF16Bits = uint16_t;
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
