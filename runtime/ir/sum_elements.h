// Sums along a row, for loops that are compiled for several instruction sets
// (runtime/base/clones.h). In chunks of 4096 elements lane l of 16 sums the elements l, l + 16,
// l + 32 ..., then lane l + 8 is added to lane l, and so on by halves. The chunk sums are added in
// a pairwise tree.
#ifndef TPURUN_RUNTIME_IR_SUM_ELEMENTS_H_
#define TPURUN_RUNTIME_IR_SUM_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tpurun {

inline constexpr int64_t kSumChunk = 4096;

// What is summed.
enum class SumOf : uint8_t { kElements, kProducts };  // x[i]; x[i] y[i]

// Of n <= kSumChunk elements.
template <SumOf kOf>
[[gnu::always_inline]] inline float SumOfChunk(const float* x, const float* y, int64_t n) {
  constexpr int64_t kHalf = 8, kLanes = 2 * kHalf;
  using Half [[gnu::vector_size(kHalf * sizeof(float))]] = float;
  Half sums[2] = {};
  const auto add = [&](const float* x, const float* y) __attribute__((always_inline)) {
    for (int half = 0; half < 2; ++half) {
      Half of_x, of_y;
      std::memcpy(&of_x, x + half * kHalf, sizeof(Half));
      if constexpr (kOf == SumOf::kProducts) {
        std::memcpy(&of_y, y + half * kHalf, sizeof(Half));
        of_x *= of_y;
      }
      sums[half] += of_x;
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) add(x + i, y + i);
  if (i < n) {
    // A sum and -0 is that sum, whatever its sign.
    float rest_x[kLanes], rest_y[kLanes];
    std::fill(std::copy(x + i, x + n, rest_x), rest_x + kLanes, -0.0f);
    if constexpr (kOf == SumOf::kProducts)
      std::fill(std::copy(y + i, y + n, rest_y), rest_y + kLanes, 1.0f);
    add(rest_x, rest_y);
  }
  const Half sum = sums[0] + sums[1];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// The tree over the chunks of n elements from `begin` on. sum(begin, n) is that of a chunk.
template <typename Sum>
float TreeOfChunks(int64_t begin, int64_t n, const Sum& sum) {
  const int64_t chunks = (n + kSumChunk - 1) / kSumChunk;
  if (chunks <= 1) return sum(begin, n);
  const int64_t left = (chunks + 1) / 2 * kSumChunk;
  return TreeOfChunks(begin, left, sum) + TreeOfChunks(begin + left, n - left, sum);
}

template <SumOf kOf>
[[gnu::always_inline]] inline float SumOfRow(const float* x, const float* y, int64_t n) {
  if (n <= kSumChunk) return SumOfChunk<kOf>(x, y, n);
  return TreeOfChunks(0, n, [&](int64_t begin, int64_t count) {
    return SumOfChunk<kOf>(x + begin, y + begin, count);
  });
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_SUM_ELEMENTS_H_
