// Conversion of numbers to the elements of a dtype.
#ifndef TPURUN_RUNTIME_IR_TYPED_VALUES_H_
#define TPURUN_RUNTIME_IR_TYPED_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/base/bfloat16.h"
#include "runtime/ir/shape.h"

namespace tpurun {

// The number of an element of f32, or of one of bf16.
[[gnu::always_inline]] inline float NumberOf(float x) { return x; }
[[gnu::always_inline]] inline float NumberOf(uint16_t bits) { return FromBFloat16Bits(bits); }

// Rounds toward zero. Values out of range become the nearest value of To, and NaN becomes 0.
template <typename To, typename From>
To ToWhole(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    if (!(value == value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

// Writes `value` as one element of the dtype. T is double or int64_t (exact), or another dtype's
// type.
template <typename T>
void StoreAs(DType dtype, T value, std::byte* to) {
  const auto store = [to](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (dtype) {
    case DType::kF32:
      store(static_cast<float>(value));
      break;
    case DType::kBF16:
      store(BFloat16Bits(static_cast<float>(value)));
      break;
    case DType::kS32:
      store(ToWhole<int32_t>(value));
      break;
    case DType::kS64:
      store(ToWhole<int64_t>(value));
      break;
    case DType::kU8:
      store(ToWhole<uint8_t>(value));
      break;
    case DType::kU32:
      store(ToWhole<uint32_t>(value));
      break;
    case DType::kPred:
      store(static_cast<uint8_t>(value != 0));
      break;
    case DType::kC64: {
      const float pair[2] = {static_cast<float>(value), 0.f};
      std::memcpy(to, pair, sizeof(pair));
      break;
    }
  }
}

// Calls f with a value of the C++ type that stores the dtype. Does not call f for c64 and bf16.
template <typename F>
void WithType(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:
      f(float{});
      break;
    case DType::kS32:
      f(int32_t{});
      break;
    case DType::kS64:
      f(int64_t{});
      break;
    case DType::kU8:
      f(uint8_t{});
      break;
    case DType::kU32:
      f(uint32_t{});
      break;
    case DType::kPred:
      f(bool{});
      break;
    default:
      break;
  }
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_TYPED_VALUES_H_
