#include "runtime/kernels/conv/winograd_transforms.h"

#include <utility>

#include "runtime/base/clones.h"
#include "runtime/base/dcheck.h"

namespace tpurun::conv {
namespace {

struct Kernel3 {
  static constexpr int kRows = 4, kColumns = 3;
  static constexpr float kAt[kRows][kColumns] = {
      {1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
};
struct X3 {
  static constexpr int kRows = 4, kColumns = 4;
  static constexpr float kAt[kRows][kColumns] = {
      {1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
};
struct Y3 {
  static constexpr int kRows = 2, kColumns = 4;
  static constexpr float kAt[kRows][kColumns] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
};

struct Kernel5 {
  static constexpr int kRows = 6, kColumns = 5;
  static constexpr float kThird = 1.0f / 3, kFifteenth = 1.0f / 15;
  static constexpr float kAt[kRows][kColumns] = {
      {1, 0, 0, 0, 0},
      {kThird, kThird, kThird, kThird, kThird},
      {-kThird, kThird, -kThird, kThird, -kThird},
      {-16 * kFifteenth, -8 * kFifteenth, -4 * kFifteenth, -2 * kFifteenth, -kFifteenth},
      {kFifteenth, -2 * kFifteenth, 4 * kFifteenth, -8 * kFifteenth, 16 * kFifteenth},
      {0, 0, 0, 0, 1}};
};
struct X5 {
  static constexpr int kRows = 6, kColumns = 6;
  static constexpr float kAt[kRows][kColumns] = {
      {1, -1.5f, -2, 1.5f, 1, 0}, {0, -1, 0.5f, 2.5f, 1, 0},  {0, 1, -2.5f, 0.5f, 1, 0},
      {0, -2, -1, 2, 1, 0},       {0, 0.5f, -1, -0.5f, 1, 0}, {0, 1, -1.5f, -2, 1.5f, 1}};
};
struct Y5 {
  static constexpr int kRows = 2, kColumns = 6;
  static constexpr float kAt[kRows][kColumns] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 0.5f, -2, 1}};
};

template <typename M>
struct Transposed {
  static constexpr int kRows = M::kColumns, kColumns = M::kRows;
};
template <typename M>
constexpr float EntryOf(const M&, int row, int column) {
  return M::kAt[row][column];
}
template <typename M>
constexpr float EntryOf(const Transposed<M>&, int row, int column) {
  return M::kAt[column][row];
}

// f(0), ..., f(count - 1), of constants.
template <int count, typename F>
[[gnu::always_inline]] inline void Unrolled(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, count>());
}

// sum = row `row` of M times x, from column `column` on. No vector is passed by value: such a
// function would be compiled for the processors of all instruction sets.
template <typename M, int row, int column = 0, bool begins = true, typename V>
[[gnu::always_inline]] inline void MultiplyRow(const V* x, V& sum) {
  if constexpr (column < M::kColumns) {
    constexpr float entry = EntryOf(M(), row, column);
    if constexpr (begins && entry != 0) {
      sum = entry == 1 ? x[column] : entry * x[column];
    } else if constexpr (entry == 1) {
      sum += x[column];
    } else if constexpr (entry == -1) {
      sum -= x[column];
    } else if constexpr (entry != 0) {
      sum += entry * x[column];
    }
    MultiplyRow<M, row, column + 1, begins && entry == 0>(x, sum);
  }
}

template <int lanes>
struct Floats {
  typedef float Type __attribute__((vector_size(lanes * sizeof(float))));
};
template <>
struct Floats<1> {
  using Type = float;
};

// The channels [channel, channel + lanes) of one transform: M X, column by column, times M'.
template <typename M, int lanes>
[[gnu::always_inline]] inline void TransformChannels(const WinogradArgs& args, int64_t from,
                                                     int64_t to, int64_t channel) {
  using V = typename Floats<lanes>::Type;
  V rows[M::kRows][M::kColumns];
  Unrolled<M::kColumns>([&](auto j) __attribute__((always_inline)) {
    V x[M::kColumns];
    Unrolled<M::kColumns>([&](auto i) __attribute__((always_inline)) {
      __builtin_memcpy(&x[i], args.from[i] + from + j * args.from_column, sizeof(V));
    });
    Unrolled<M::kRows>([&](auto p)
                           __attribute__((always_inline)) { MultiplyRow<M, p>(x, rows[p][j]); });
  });
  V bias = {};
  if (args.bias != nullptr) __builtin_memcpy(&bias, args.bias + channel, sizeof(V));
  Unrolled<M::kRows>([&](auto p) __attribute__((always_inline)) {
    Unrolled<M::kRows>([&](auto q) __attribute__((always_inline)) {
      V sum;
      MultiplyRow<M, q>(rows[p], sum);
      if (args.bias != nullptr) sum += bias;
      __builtin_memcpy(args.to[p] + to + q * args.to_column, &sum, sizeof(V));
    });
  });
}

template <typename M, int lanes>
[[gnu::always_inline]] inline void TransformAll(const WinogradArgs& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    const int64_t from = i * args.from_next, to = i * args.to_next;
    int64_t c = 0;
    for (; c + lanes <= args.channels; c += lanes)
      TransformChannels<M, lanes>(args, from + c, to + c, c);
    for (; c < args.channels; ++c) TransformChannels<M, 1>(args, from + c, to + c, c);
  }
}

template <typename M>
void RunWinograd(const gemm::Tiles& tiles, const WinogradArgs& args) {
  constexpr int kOfAvx512 = 16, kOfAvx2 = 8, kOfAll = 4;
  if (tiles.lanes >= kOfAvx512) {
    RunWith(
        InstructionSet::kAvx512, [&]() __attribute__((always_inline)) {
          TransformAll<M, kOfAvx512>(args);
        });
  } else if (tiles.lanes >= kOfAvx2) {
    RunWith(
        InstructionSet::kAvx2, [&]() __attribute__((always_inline)) {
          TransformAll<M, kOfAvx2>(args);
        });
  } else {
    TransformAll<M, kOfAll>(args);
  }
}

template <typename Kernel, typename X, typename Y>
void RunWinograd(WinogradTransform transform, const gemm::Tiles& tiles, const WinogradArgs& args) {
  switch (transform) {
    case WinogradTransform::kKernel:
      return RunWinograd<Kernel>(tiles, args);
    case WinogradTransform::kX:
      return RunWinograd<X>(tiles, args);
    case WinogradTransform::kY:
      return RunWinograd<Y>(tiles, args);
    case WinogradTransform::kDy:
      return RunWinograd<Transposed<Y>>(tiles, args);
    case WinogradTransform::kKernelGrad:
      return RunWinograd<Transposed<Kernel>>(tiles, args);
  }
}

}  // namespace

void TransformWinograd(WinogradTransform transform, int64_t taps, const gemm::Tiles& tiles,
                       const WinogradArgs& args) {
  TPURUN_DCHECK(HasWinogradTransforms(taps));
  if (taps == 3) return RunWinograd<Kernel3, X3, Y3>(transform, tiles, args);
  RunWinograd<Kernel5, X5, Y5>(transform, tiles, args);
}

}  // namespace tpurun::conv
