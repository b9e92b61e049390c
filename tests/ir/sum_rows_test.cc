// Sums of rows beside the order that sum_rows.h says, bit for bit.
#include "runtime/ir/sum_rows.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"

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

// The sum of blocks [begin, end) and of the squares of their numbers' distances from the mean,
// which for two sets come from those of each.
struct Moments {
  float sum = 0, squares = 0, count = 0;
};

Moments TreeOfMoments(const std::vector<float>& numbers, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 64;
  if (end - begin > 1) {
    const int64_t middle = begin + (end - begin + 1) / 2;
    const Moments a = TreeOfMoments(numbers, begin, middle),
                  b = TreeOfMoments(numbers, middle, end);
    const float count = a.count + b.count, distance = b.sum / b.count - a.sum / a.count;
    const float between = distance * distance * (a.count * b.count / count);
    return {a.sum + b.sum, a.squares + b.squares + between, count};
  }
  Moments moments;
  const int64_t first = begin * kBlock, last = std::min<int64_t>(end * kBlock, numbers.size());
  for (int64_t i = first; i < last; ++i) moments.sum += numbers[i];
  moments.count = static_cast<float>(last - first);
  const float mean = moments.sum / moments.count;
  for (int64_t i = first; i < last; ++i) {
    const float distance = numbers[i] - mean;
    moments.squares += distance * distance;
  }
  return moments;
}

TEST(SumRows, AddsBlocksInPairs) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> number(-1, 1);
  for (const int64_t rows : {0, 1, 64, 65, 256, 257, 700, 1024, 1300}) {
    for (const int64_t columns : {1, 15, 16, 33, 70, 128, 383}) {
      std::vector<float> x(rows * columns), y(rows * columns), center(columns);
      for (float& of_x : x) of_x = number(random);
      for (float& of_y : y) of_y = number(random);
      for (float& of_center : center) of_center = number(random);
      std::vector<float> sums(columns), sums_of_y(columns), centered(columns);
      std::vector<float> sums_of_moments(columns), squares(columns);
      SumRows(x.data(), rows, columns, 0, columns, sums.data());
      // In two parts, whose tiles of columns differ.
      for (const auto& [begin, end] :
           {std::pair<int64_t, int64_t>{0, columns / 3}, {columns / 3, columns}}) {
        SumCentered(y.data(), x.data(), center.data() + begin, rows, columns, begin, end,
                    sums_of_y.data() + begin, centered.data() + begin);
        SumMoments(x.data(), rows, columns, begin, end, sums_of_moments.data() + begin,
                   squares.data() + begin);
      }
      std::vector<float> centered_alone(columns);
      SumCentered(y.data(), x.data(), center.data(), rows, columns, 0, columns,
                  static_cast<float*>(nullptr), centered_alone.data());
      ASSERT_EQ(centered_alone, centered);
      for (int64_t c = 0; c < columns; ++c) {
        std::vector<float> of_x(rows), of_y(rows), of_both(rows);
        for (int64_t r = 0; r < rows; ++r) {
          const float distance = x[r * columns + c] - center[c];
          of_x[r] = x[r * columns + c];
          of_both[r] = y[r * columns + c] * distance;
          of_y[r] = y[r * columns + c];
        }
        const int64_t blocks = (rows + 63) / 64;
        ASSERT_EQ(sums[c], Tree(of_x, 0, blocks)) << rows << " x " << columns << ": " << c;
        ASSERT_EQ(centered[c], Tree(of_both, 0, blocks)) << rows << " x " << columns << ": " << c;
        ASSERT_EQ(sums_of_y[c], Tree(of_y, 0, blocks)) << rows << " x " << columns << ": " << c;
        ASSERT_EQ(sums_of_moments[c], sums[c]) << rows << " x " << columns << ": " << c;
        const float want = rows == 0 ? 0 : TreeOfMoments(of_x, 0, blocks).squares;
        ASSERT_EQ(squares[c], want) << rows << " x " << columns << ": " << c;
      }
    }
  }
}

// Tiles of numbers in bf16 have other columns than those in f32.
TEST(SumRows, NumbersStoredInBFloat16AreSummedInF32) {
  constexpr int64_t kRows = 700;
  for (const int64_t columns : {49, 256, 650}) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> number(-1, 1);
    std::vector<uint16_t> x(kRows * columns), y(x.size());
    std::vector<float> x_in_f32(x.size()), y_in_f32(x.size()), center(columns);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = BFloat16Bits(number(random));
      y[i] = BFloat16Bits(number(random));
      x_in_f32[i] = FromBFloat16Bits(x[i]);
      y_in_f32[i] = FromBFloat16Bits(y[i]);
    }
    for (float& of_center : center) of_center = number(random);
    std::vector<float> sums(columns), got(columns), want(columns), sums_alone(columns);
    SumRows(x_in_f32.data(), kRows, columns, 0, columns, sums.data());
    SumRows(x.data(), kRows, columns, 0, columns, got.data());
    EXPECT_EQ(got, sums) << columns;
    SumMoments(x_in_f32.data(), kRows, columns, 0, columns, sums.data(), want.data());
    float* const none = nullptr;
    SumMoments(x.data(), kRows, columns, 0, columns, none, got.data());
    EXPECT_EQ(got, want) << columns;
    SumMoments(x.data(), kRows, columns, 0, columns, sums_alone.data(), none);
    EXPECT_EQ(sums_alone, sums) << columns;
    const auto centered = [&](const auto& of_y, const auto& of_x) {
      SumCentered(of_y.data(), of_x.data(), center.data(), kRows, columns, 0, columns, none,
                  got.data());
      return got;
    };
    want = centered(y_in_f32, x_in_f32);
    EXPECT_EQ(centered(y, x), want) << columns;
    EXPECT_EQ(centered(y, x_in_f32), want) << columns;
    EXPECT_EQ(centered(y_in_f32, x), want) << columns;
  }
}

// Far from 0, where the mean of the squares minus the square of the mean would have no digit left.
TEST(SumRows, SquaresOfLargeNumbersAreAboutTheirMean) {
  constexpr int64_t kRows = 1 << 16;
  std::mt19937 random(1);
  std::normal_distribution<float> number(4096, 0.5);
  std::vector<float> x(kRows);
  for (float& of_x : x) of_x = number(random);
  double sum = 0, squares = 0;
  for (const float of_x : x) sum += of_x;
  for (const float of_x : x) squares += (of_x - sum / kRows) * (of_x - sum / kRows);
  float got_sum = 0, got = 0;
  SumMoments(x.data(), kRows, 1, 0, 1, &got_sum, &got);
  EXPECT_NEAR(got, squares, 1e-5 * squares);
}

}  // namespace
}  // namespace tpurun
