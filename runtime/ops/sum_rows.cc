#include "runtime/ops/sum_rows.h"

#include <algorithm>
#include <array>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"

namespace tpurun {
namespace {

constexpr int64_t kRowBlock = 64;    // rows summed one after the other
constexpr int64_t kColumnTile = 32;  // columns at a time; does not change bits

// The sums of at most kRowBlock rows for `tile` columns.
template <typename T, typename Map>
[[gnu::always_inline]] inline void Block(const T* x, int64_t rows, int64_t columns, int64_t tile,
                                         float* sums, Map map) {
  float block[kColumnTile] = {};
  if (tile == kColumnTile) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < kColumnTile; ++c) block[c] += map(x[r * columns + c]);
    }
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < tile; ++c) block[c] += map(x[r * columns + c]);
    }
  }
  std::copy(block, block + tile, sums);
}

TPURUN_CLONES void SumBlock(const float* x, int64_t rows, int64_t columns, int64_t tile,
                            float* sums) {
  Block(x, rows, columns, tile, sums, [](float v) { return v; });
}
TPURUN_CLONES void SumNarrowBlock(const uint16_t* x, int64_t rows, int64_t columns, int64_t tile,
                                  float* sums) {
  Block(x, rows, columns, tile, sums, FromBFloat16Bits);
}
TPURUN_CLONES void SumRoundedBlock(const float* x, int64_t rows, int64_t columns, int64_t tile,
                                   float* sums) {
  Block(x, rows, columns, tile, sums, [](float v) { return RoundToBFloat16(v); });
}

template <typename T, typename SumOfBlock>
void SumTile(const T* x, int64_t rows, int64_t columns, int64_t tile, float* sums,
             SumOfBlock sum_of_block) {
  if (rows <= kRowBlock) return sum_of_block(x, rows, columns, tile, sums);
  const int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
  const int64_t above = (blocks + 1) / 2 * kRowBlock;
  std::array<float, kColumnTile> below;
  SumTile(x, above, columns, tile, sums, sum_of_block);
  SumTile(x + above * columns, rows - above, columns, tile, below.data(), sum_of_block);
  for (int64_t c = 0; c < tile; ++c) sums[c] += below[c];
}

template <typename T, typename SumOfBlock>
void SumTiles(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums,
              SumOfBlock sum_of_block) {
  for (int64_t c = begin; c < end; c += kColumnTile) {
    SumTile(x + c, rows, columns, std::min(kColumnTile, end - c), sums + c, sum_of_block);
  }
}

}  // namespace

void SumRows(const float* x, int64_t rows, int64_t columns, int64_t begin, int64_t end,
             float* sums) {
  SumTiles(x, rows, columns, begin, end, sums, SumBlock);
}
void SumRows(const uint16_t* x, int64_t rows, int64_t columns, int64_t begin, int64_t end,
             float* sums) {
  SumTiles(x, rows, columns, begin, end, sums, SumNarrowBlock);
}
void SumRoundedRows(const float* x, int64_t rows, int64_t columns, int64_t begin, int64_t end,
                    float* sums) {
  SumTiles(x, rows, columns, begin, end, sums, SumRoundedBlock);
}

}  // namespace tpurun
