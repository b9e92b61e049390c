// The steps of chains for any vector type, for the files of the instruction sets alone. Each of
// them defines `Vector` in an unnamed namespace, so that no two share an instance of these
// templates:
//
//   struct Vector {
//     static constexpr int kLanes;
//     using Type;  // kLanes floats
//     static Type Broadcast(float), Load(const float*), LoadBF16(const uint16_t*);
//     static void Store(Type, float*), StoreBF16(Type, uint16_t*);  // rounded by BFloat16Bits
//     static void StoreUpperHalves(Type, uint16_t*);
//     static Type Add(Type, Type), Subtract(Type, Type), Multiply(Type, Type), Divide(Type, Type);
//     static Type Negate(Type), SquareRoot(Type), Round(Type);  // to bf16, by BFloat16Bits
//     static Type WherePositive(Type x, Type y);     // x where y > 0, else 0
//     static Type WhereNotNegative(Type x);          // x where x > 0 or x is NaN, else 0
//     static void Leave();  // vzeroupper, where there is one
//   };
#ifndef TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_LOOPS_H_
#define TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_LOOPS_H_

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/kernels/elementwise/chain.h"

namespace tpurun::elementwise {
namespace {

// So many bytes of an array are read into the cache ahead of time: of several arrays in turn the
// processor's own prefetching comes late, at least on a Zen 5.
constexpr int64_t kAheadBytes = 4096;

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
  static void Leave() {}
  static float Broadcast(float x) { return x; }
  static float Load(const float* from) { return *from; }
  static float LoadBF16(const uint16_t* from) { return FromBits(uint32_t{*from} << 16); }
  static void Store(float x, float* to) { *to = x; }
  static void StoreBF16(float x, uint16_t* to) { *to = static_cast<uint16_t>(Rounded(x)); }
  static void StoreUpperHalves(float x, uint16_t* to) {
    *to = static_cast<uint16_t>(Bits(x) >> 16);
  }
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

// The functions of steps, for blocks of so many vectors as `v` has numbers; `index`: their place in
// ChainCall::functions. Each ends with a call of the next step's function, which has the vectors in
// registers; to compilers that is a jump. So nothing is asked of a step while a chain runs (an
// update by adam, 12 steps of 1,024 elements, on a Zen 3: 1.24 ns an element where a loop over the
// steps asked, 0.68 so).
template <typename Vector, int index, typename Indices>
struct Steps;
template <typename Vector, int index, size_t... v>
struct Steps<Vector, index, std::index_sequence<v...>> {
  using Type = typename Vector::Type;
  static constexpr int kVectors = sizeof...(v), kLanes = Vector::kLanes;
  static constexpr int64_t kElements = int64_t{kVectors} * kLanes;

  template <size_t>
  struct Lane {
    using Type = typename Vector::Type;
  };
  // x: the value of the elements from k on.
  using Function = void (*)(typename Lane<v>::Type... x, const ChainCall* call, int64_t k);

  [[gnu::always_inline]] static void Next(const Type* x, const ChainCall* call, int64_t k) {
    reinterpret_cast<Function>(call[1].functions[index])(x[v]..., call + 1, k);
  }

  // An array of a step: of f32, of bf16, of one f32 for all elements.
  template <typename Number, bool prefetches, bool is_rounded = false>
  struct Numbers {
    [[gnu::always_inline]] static Number* At(const ChainCall* call, int64_t k) {
      Number* const data = static_cast<Number*>(const_cast<void*>(call->data)) + k;
      if constexpr (prefetches) {
        constexpr int kLines = (kElements * sizeof(Number) + 63) / 64;
        const char* const ahead = reinterpret_cast<const char*>(data) + kAheadBytes;
        for (int line = 0; line < kLines; ++line) __builtin_prefetch(ahead + 64 * line);
      }
      return data;
    }
    [[gnu::always_inline]] static Type Load(const float* data, int i) {
      return Vector::Load(data + i * kLanes);
    }
    [[gnu::always_inline]] static Type Load(const uint16_t* data, int i) {
      return Vector::LoadBF16(data + i * kLanes);
    }
    [[gnu::always_inline]] static void Store(Type x, float* data, int i) {
      Vector::Store(x, data + i * kLanes);
    }
    [[gnu::always_inline]] static void Store(Type x, uint16_t* data, int i) {
      is_rounded ? Vector::StoreUpperHalves(x, data + i * kLanes)
                 : Vector::StoreBF16(x, data + i * kLanes);
    }
  };
  struct Scalar {
    [[gnu::always_inline]] static Type At(const ChainCall* call, int64_t) {
      return Vector::Broadcast(*static_cast<const float*>(call->data));
    }
    [[gnu::always_inline]] static Type Load(Type x, int) { return x; }
  };

  template <typename Array>
  static void Load(typename Lane<v>::Type..., const ChainCall* call, int64_t k) {
    const auto from = Array::At(call, k);
    const Type x[] = {Array::Load(from, v)...};
    Next(x, call, k);
  }
  template <Type (*op)(Type, Type), typename Array, bool swaps>
  static void Binary(typename Lane<v>::Type... x, const ChainCall* call, int64_t k) {
    const auto from = Array::At(call, k);
    const auto value = [from](Type x, int i) __attribute__((always_inline)) {
      const Type y = Array::Load(from, i);
      return swaps ? op(y, x) : op(x, y);
    };
    const Type values[] = {value(x, v)...};
    Next(values, call, k);
  }
  template <Type (*op)(Type)>
  static void Unary(typename Lane<v>::Type... x, const ChainCall* call, int64_t k) {
    const Type values[] = {op(x)...};
    Next(values, call, k);
  }
  template <typename Array>
  static void Store(typename Lane<v>::Type... x, const ChainCall* call, int64_t k) {
    const auto to = Array::At(call, k);
    (Array::Store(x, to, v), ...);
    const Type values[] = {x...};
    Next(values, call, k);
  }
  static Type Square(Type x) { return Vector::Multiply(x, x); }
  static void End(typename Lane<v>::Type..., const ChainCall*, int64_t) {}

  // What `make` returns for the type of the step's array.
  template <typename Make>
  static Function OfArray(const ChainStep& step, Make make) {
    switch (step.numbers) {
      case ChainStep::kScalar:
        return make(Scalar());
      case ChainStep::kBF16:
        if (step.is_rounded) return make(Numbers<uint16_t, true, true>());
        return step.prefetches ? make(Numbers<uint16_t, true>()) : make(Numbers<uint16_t, false>());
      case ChainStep::kF32:
        break;
    }
    return step.prefetches ? make(Numbers<float, true>()) : make(Numbers<float, false>());
  }
  template <Type (*op)(Type, Type)>
  static Function OfBinary(const ChainStep& step) {
    return OfArray(step, [&](auto array) -> Function {
      return step.swaps ? Binary<op, decltype(array), true> : Binary<op, decltype(array), false>;
    });
  }
  static Function OfOp(const ChainStep& step) {
    switch (step.op) {
      case ChainOp::kNone:
        break;
      case ChainOp::kAdd:
        return OfBinary<Vector::Add>(step);
      case ChainOp::kSubtract:
        return OfBinary<Vector::Subtract>(step);
      case ChainOp::kMultiply:
        return OfBinary<Vector::Multiply>(step);
      case ChainOp::kDivide:
        return OfBinary<Vector::Divide>(step);
      case ChainOp::kWherePositive:
        return OfBinary<Vector::WherePositive>(step);
      case ChainOp::kNegate:
        return Unary<Vector::Negate>;
      case ChainOp::kSquare:
        return Unary<Square>;
      case ChainOp::kSquareRoot:
        return Unary<Vector::SquareRoot>;
      case ChainOp::kRelu:
        return Unary<Vector::WhereNotNegative>;
    }
    return nullptr;
  }
  static Function OfStep(const ChainStep& step) {
    switch (step.kind) {
      case ChainStep::kLoad:
        return OfArray(step, [](auto array) -> Function { return Load<decltype(array)>; });
      case ChainStep::kCompute:
        return OfOp(step);
      case ChainStep::kRound:
        return Unary<Vector::Round>;
      case ChainStep::kStore:
        return OfArray(step, [](auto array) -> Function {
          if constexpr (std::is_same_v<decltype(array), Scalar>) {
            return nullptr;
          } else {
            return Store<decltype(array)>;
          }
        });
      case ChainStep::kEnd:
        break;
    }
    return End;
  }

  // Whole blocks from element k on; returns the first element after them.
  static int64_t Run(const ChainCall* chain, int64_t k, int64_t n) {
    const auto first = reinterpret_cast<Function>(chain->functions[index]);
    for (; k + kElements <= n; k += kElements) first(typename Lane<v>::Type{}..., chain, k);
    return k;
  }
};

// Eight vectors at a time: the calling convention passes no more of them in registers.
template <typename Vector>
using VectorsOfSteps = Steps<Vector, 0, std::make_index_sequence<8>>;
template <typename Vector>
using VectorOfSteps = Steps<Vector, 1, std::make_index_sequence<1>>;
using ElementOfSteps = Steps<Element, 2, std::make_index_sequence<1>>;

template <typename Vector>
constexpr Chains ChainsOf() {
  return {.call = [](const ChainStep& step) -> ChainCall {
            using Any = void (*)();
            return {{reinterpret_cast<Any>(VectorsOfSteps<Vector>::OfStep(step)),
                     reinterpret_cast<Any>(VectorOfSteps<Vector>::OfStep(step)),
                     reinterpret_cast<Any>(ElementOfSteps::OfStep(step))}};
          },
          .run =
              [](const ChainCall* chain, int64_t n) {
                int64_t k = VectorsOfSteps<Vector>::Run(chain, 0, n);
                k = VectorOfSteps<Vector>::Run(chain, k, n);
                ElementOfSteps::Run(chain, k, n);
                // GCC does not insert it after calls that take vectors.
                Vector::Leave();
              }};
}

}  // namespace
}  // namespace tpurun::elementwise

#endif  // TPURUN_RUNTIME_KERNELS_ELEMENTWISE_CHAIN_LOOPS_H_
