// The C++ types of the numbers in columns.
#ifndef TPURUN_DATA_TRANSFORMS_NUMBER_TYPES_H_
#define TPURUN_DATA_TRANSFORMS_NUMBER_TYPES_H_

#include <cstdint>
#include <type_traits>

#include "proto/input.pb.h"
#include "runtime/base/bfloat16.h"

namespace tpurun {

struct BFloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};

template <typename T>
[[gnu::always_inline]] inline auto Number(T stored) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return FromBFloat16Bits(stored.bits);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return stored.value;
  } else {
    return stored;
  }
}

// Calls f with a value of the C++ type of `dtype` and returns its result, a pointer. Returns
// nullptr for a dtype without numbers.
template <typename F>
auto ForNumberType(proto::DataType dtype, F f) -> decltype(f(float{})) {
  switch (dtype) {
    case proto::FLOAT32:
      return f(float{});
    case proto::BFLOAT16:
      return f(BFloat16{});
    case proto::INT32:
      return f(int32_t{});
    case proto::INT64:
      return f(int64_t{});
    case proto::UINT8:
      return f(uint8_t{});
    case proto::UINT32:
      return f(uint32_t{});
    case proto::BOOL:
      return f(Bool{});
    default:
      return nullptr;
  }
}

inline constexpr char kNumberTypes[] = "FLOAT32, BFLOAT16, INT32, INT64, UINT8, UINT32, BOOL";

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_NUMBER_TYPES_H_
