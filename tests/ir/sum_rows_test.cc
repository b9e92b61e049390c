// Sums of rows beside the order that sum_rows.h says, bit for bit.
#include "runtime/ir/sum_rows.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

// The sum of blocks [begin, end) of 64 numbers, as a tree of pairs.
float Tree(const std::vector<float>& numbers, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 64;
  if (end - begin > 1) {
    const int64_t middle = begin + (end - begin + 1) / 2;
    return Tree(numbers, begin, middle) + Tree(numbers, middle, end);
  }
  float sum = 0;
  const int64_t last = std::min<int64_t>(end * kBlock, numbers.size());
  for (int64_t i = begin * kBlock; i < last; ++i) sum += numbers[i];
  return sum;
}

TEST(SumRows, AddsBlocksInPairs) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> number(-1, 1);
  for (const int64_t rows : {0, 1, 64, 65, 256, 257, 700, 1024, 1300}) {
    for (const int64_t columns : {1, 15, 16, 33, 70}) {
      std::vector<float> x(rows * columns), y(rows * columns), center(columns);
      for (float& of_x : x) of_x = number(random);
      for (float& of_y : y) of_y = number(random);
      for (float& of_center : center) of_center = number(random);
      std::vector<float> sums(columns), centered(columns), squares(columns);
      SumRows(x.data(), rows, columns, 0, columns, sums.data());
      SumCentered(y.data(), x.data(), center.data(), rows, columns, 0, columns, centered.data());
      SumSquares(x.data(), center.data(), rows, columns, 0, columns, squares.data());
      for (int64_t c = 0; c < columns; ++c) {
        std::vector<float> of_x(rows), of_both(rows), of_squares(rows);
        for (int64_t r = 0; r < rows; ++r) {
          const float distance = x[r * columns + c] - center[c];
          of_x[r] = x[r * columns + c];
          of_both[r] = y[r * columns + c] * distance;
          of_squares[r] = distance * distance;
        }
        const int64_t blocks = (rows + 63) / 64;
        ASSERT_EQ(sums[c], Tree(of_x, 0, blocks)) << rows << " x " << columns << ": " << c;
        ASSERT_EQ(centered[c], Tree(of_both, 0, blocks)) << rows << " x " << columns << ": " << c;
        ASSERT_EQ(squares[c], Tree(of_squares, 0, blocks)) << rows << " x " << columns << ": " << c;
      }
    }
  }
}

}  // namespace
}  // namespace tpurun
