// The loops of a chain for any vector type, for the files of the instruction sets alone. Each of
// them defines `Vector` in an unnamed namespace, so that no two share an instance of these
// templates:
//
//   struct Vector {
//     static constexpr int kLanes;
//     using Type;  // kLanes floats
//     static Type Load(const float*), LoadBF16(const uint16_t*);
//     static void Store(Type, float*), StoreBF16(Type, uint16_t*);  // rounded by BFloat16Bits
//     static Type Add(Type, Type), Subtract(Type, Type), Multiply(Type, Type), Divide(Type, Type);
//     static Type Negate(Type), SquareRoot(Type), Round(Type);  // to bf16, by BFloat16Bits
//     static Type WherePositive(Type x, Type y);     // x where y > 0, else 0
//     static Type WhereNotNegative(Type x);          // x where x > 0 or x is NaN, else 0
//   };
#ifndef TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_LOOPS_H_
#define TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_LOOPS_H_

#include <cstring>

#include "runtime/kernels/elementwise/chain.h"

// Loops over the vectors of a block are unrolled by order: only then does GCC 12 keep them in
// registers. Each file of an instruction set undefines the macro at its end.
#define TPURUN_UNROLL _Pragma("GCC unroll 8")

namespace tpurun::elementwise {
namespace {

// So many bytes of each array are read into the cache ahead of time: of several arrays in turn the
// processor's own prefetching comes late, at least on a Zen 5.
constexpr int64_t kAheadBytes = 4096;

template <typename Vector, int vectors>
struct Block {
  using Type = typename Vector::Type;
  static constexpr int kLanes = Vector::kLanes;

  template <typename Number>
  [[gnu::always_inline]] static void Prefetch(const Number* data) {
    constexpr int kLines = (vectors * kLanes * sizeof(Number) + 63) / 64;
    const auto* const ahead = reinterpret_cast<const char*>(data) + kAheadBytes;
    TPURUN_UNROLL for (int line = 0; line < kLines; ++line) __builtin_prefetch(ahead + 64 * line);
  }
  [[gnu::always_inline]] void Load(const Array& from, int64_t k) {
    if (from.is_bf16) {
      const auto* const data = static_cast<const uint16_t*>(from.data) + k;
      if (from.streams) Prefetch(data);
      TPURUN_UNROLL for (int v = 0; v < vectors; ++v) lanes[v] =
          Vector::LoadBF16(data + v * kLanes);
    } else {
      const auto* const data = static_cast<const float*>(from.data) + k;
      if (from.streams) Prefetch(data);
      TPURUN_UNROLL for (int v = 0; v < vectors; ++v) lanes[v] = Vector::Load(data + v * kLanes);
    }
  }
  // Reads y vector by vector, so that x may have half of 16 registers.
  template <typename F>
  [[gnu::always_inline]] void Apply(F f, const Array& y, int64_t k, bool swaps) {
    if (y.is_bf16) {
      const auto* const data = static_cast<const uint16_t*>(y.data) + k;
      if (y.streams) Prefetch(data);
      ApplyTo(
          f, swaps, [data](int v) __attribute__((always_inline)) {
            return Vector::LoadBF16(data + v * kLanes);
          });
    } else {
      const auto* const data = static_cast<const float*>(y.data) + k;
      if (y.streams) Prefetch(data);
      ApplyTo(
          f, swaps, [data](int v) __attribute__((always_inline)) {
            return Vector::Load(data + v * kLanes);
          });
    }
  }
  template <typename F, typename VectorOfY>
  [[gnu::always_inline]] void ApplyTo(F f, bool swaps, VectorOfY y) {
    if (swaps) {
      TPURUN_UNROLL for (int v = 0; v < vectors; ++v) lanes[v] = f(y(v), lanes[v]);
    } else {
      TPURUN_UNROLL for (int v = 0; v < vectors; ++v) lanes[v] = f(lanes[v], y(v));
    }
  }
  template <typename F>
  [[gnu::always_inline]] void Apply(F f) {
    TPURUN_UNROLL for (int v = 0; v < vectors; ++v) lanes[v] = f(lanes[v]);
  }

  Type lanes[vectors];
};

template <typename Vector, int vectors>
[[gnu::always_inline]] inline void Take(const ChainStep& step, int64_t k,
                                        Block<Vector, vectors>& x) {
  switch (step.op) {
    case ChainOp::kNone:
      break;
    case ChainOp::kAdd:
      x.Apply(Vector::Add, step.y, k, step.swaps);
      break;
    case ChainOp::kSubtract:
      x.Apply(Vector::Subtract, step.y, k, step.swaps);
      break;
    case ChainOp::kMultiply:
      x.Apply(Vector::Multiply, step.y, k, step.swaps);
      break;
    case ChainOp::kDivide:
      x.Apply(Vector::Divide, step.y, k, step.swaps);
      break;
    case ChainOp::kWherePositive:
      x.Apply(Vector::WherePositive, step.y, k, step.swaps);
      break;
    case ChainOp::kNegate:
      x.Apply(Vector::Negate);
      break;
    case ChainOp::kSquare:
      x.Apply([](typename Vector::Type value) { return Vector::Multiply(value, value); });
      break;
    case ChainOp::kSquareRoot:
      x.Apply(Vector::SquareRoot);
      break;
    case ChainOp::kRelu:
      x.Apply(Vector::WhereNotNegative);
      break;
  }
  if (step.rounds) x.Apply(Vector::Round);
  constexpr int kLanes = Vector::kLanes;
  if (step.to != nullptr) {
    if (step.streams && step.to_bf16 == nullptr) Block<Vector, vectors>::Prefetch(step.to + k);
    TPURUN_UNROLL for (int v = 0; v < vectors; ++v)
        Vector::Store(x.lanes[v], step.to + k + v * kLanes);
  }
  if (step.to_bf16 != nullptr) {
    if (step.streams) Block<Vector, vectors>::Prefetch(step.to_bf16 + k);
    TPURUN_UNROLL for (int v = 0; v < vectors; ++v)
        Vector::StoreBF16(x.lanes[v], step.to_bf16 + k + v * kLanes);
  }
}

// Whole blocks from element k on; returns the first element after them.
template <typename Vector, int vectors>
int64_t RunBlocks(const Chain& chain, int64_t k, int64_t n) {
  constexpr int64_t kBlock = int64_t{vectors} * Vector::kLanes;
  for (; k + kBlock <= n; k += kBlock) {
    Block<Vector, vectors> x;
    x.Load(chain.first, k);
    for (int step = 0; step < chain.count; ++step) Take<Vector, vectors>(chain.steps[step], k, x);
  }
  return k;
}

// One element at a time, by the plain functions.
struct Element {
  static constexpr int kLanes = 1;
  using Type = float;
  static uint32_t Bits(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
  }
  static float FromBits(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
  }
  // BFloat16Bits of runtime/base/bfloat16.h, which these files may not include.
  static uint32_t Rounded(float x) {
    const uint32_t bits = Bits(x), top = bits >> 16;
    if ((bits & 0x7f800000u) == 0) return top & 0x8000u;
    if ((bits & 0x7fffffffu) > 0x7f800000u) return top | 0x40u;
    return (bits + 0x7fffu + (top & 1u)) >> 16;
  }
  static float Load(const float* from) { return *from; }
  static float LoadBF16(const uint16_t* from) { return FromBits(uint32_t{*from} << 16); }
  static void Store(float x, float* to) { *to = x; }
  static void StoreBF16(float x, uint16_t* to) { *to = static_cast<uint16_t>(Rounded(x)); }
  static float Add(float x, float y) { return x + y; }
  static float Subtract(float x, float y) { return x - y; }
  static float Multiply(float x, float y) { return x * y; }
  static float Divide(float x, float y) { return x / y; }
  static float Negate(float x) { return -x; }
  static float SquareRoot(float x) { return __builtin_sqrtf(x); }
  static float Round(float x) { return FromBits(Rounded(x) << 16); }
  static float WherePositive(float x, float y) { return y > 0 ? x : 0.0f; }
  static float WhereNotNegative(float x) { return x > 0 || x != x ? x : 0.0f; }
};

// Eight vectors at a time: what a step does is found out once for all of them (2 M elements of
// relu((x - a) b + c) with AVX2: four vectors 0.95 ns an element, eight 0.6).
template <typename Vector>
void RunVectors(const Chain& chain, int64_t n) {
  int64_t k = RunBlocks<Vector, 8>(chain, 0, n);
  k = RunBlocks<Vector, 2>(chain, k, n);
  k = RunBlocks<Vector, 1>(chain, k, n);
  RunBlocks<Element, 1>(chain, k, n);
}

}  // namespace
}  // namespace tpurun::elementwise

#endif  // TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_LOOPS_H_
