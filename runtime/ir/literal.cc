#include "runtime/ir/literal.h"

#include <cmath>

#include "runtime/base/bfloat16.h"

namespace tpurun {

int64_t FirstNonFinite(const Shape& shape, const std::byte* data) {
  const int64_t elements = shape.num_elements();
  const auto find = [&](auto values, int64_t count, auto to_float) -> int64_t {
    for (int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(to_float(values[i]))) return i;
    }
    return -1;
  };
  const auto* const floats = reinterpret_cast<const float*>(data);
  const auto identity = [](float value) { return value; };
  if (shape.dtype == DType::kF32) return find(floats, elements, identity);
  if (shape.dtype == DType::kC64) return find(floats, 2 * elements, identity);
  if (shape.dtype == DType::kBF16) {
    return find(reinterpret_cast<const uint16_t*>(data), elements,
                [](uint16_t bits) { return FromBFloat16Bits(bits); });
  }
  return -1;
}

}  // namespace tpurun
