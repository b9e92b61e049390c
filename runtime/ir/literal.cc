#include "runtime/ir/literal.h"

#include <bit>
#include <cmath>

#include "runtime/base/bfloat16.h"
#include "runtime/base/clones.h"

namespace tpurun {

// The exponent bits of a float that is not finite are all ones. Adding one to them carries into the
// sign bit.
TPURUN_CLONES bool AllFinite(const float* x, int64_t n) {
  constexpr uint32_t kExponent = 0x7f800000, kOneMore = 0x00800000;
  uint32_t carry = 0;
  for (int64_t i = 0; i < n; ++i) carry |= (std::bit_cast<uint32_t>(x[i]) & kExponent) + kOneMore;
  return carry >> 31 == 0;
}

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
  if (shape.dtype == DType::kF32)
    return AllFinite(floats, elements) ? -1 : find(floats, elements, identity);
  if (shape.dtype == DType::kC64) return find(floats, 2 * elements, identity);
  if (shape.dtype == DType::kBF16) {
    return find(reinterpret_cast<const uint16_t*>(data), elements,
                [](uint16_t bits) { return FromBFloat16Bits(bits); });
  }
  return -1;
}

}  // namespace tpurun
