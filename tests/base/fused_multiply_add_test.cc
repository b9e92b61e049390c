// FusedMultiplyAdd beside std::fma.
#include "runtime/base/fused_multiply_add.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"

namespace tpurun {
namespace {

void ExpectFma(float x, float y, float z) {
  const float want = std::fma(x, y, z), got = FusedMultiplyAdd(x, y, z);
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << x << " " << y << " " << z;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want))
        << x << " " << y << " " << z;
  }
}

TEST(FusedMultiplyAdd, IsThatOfTheStandardLibrary) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000000; ++i) {
    // Exponents that are near each other, so that the sum cancels and its rounding is close.
    const auto number = [&](uint32_t exponents) {
      const auto exponent = static_cast<uint32_t>(127 - exponents / 2 + random() % exponents);
      return std::bit_cast<float>((static_cast<uint32_t>(random()) & 0x807fffffu) | exponent << 23);
    };
    ExpectFma(number(8), number(8), number(60));
    // Few bits: exact ties.
    const auto dyadic = [&] {
      return static_cast<float>(static_cast<int>(random() % 8193) - 4096);
    };
    ExpectFma(dyadic(), dyadic(), std::ldexp(dyadic(), static_cast<int>(random() % 60) - 30));
    ExpectFma(std::bit_cast<float>(static_cast<uint32_t>(random())),
              std::bit_cast<float>(static_cast<uint32_t>(random())),
              std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  for (const float x : {0.0f, -0.0f, 1.0f, INFINITY, -INFINITY, NAN, 1e-45f, 3e38f}) {
    for (const float y : {0.0f, -0.0f, -1.0f, INFINITY, 1e-45f, 3e38f}) {
      for (const float z : {0.0f, -0.0f, 1.0f, INFINITY, -INFINITY, NAN, 1e-45f, -3e38f})
        ExpectFma(x, y, z);
    }
  }
}

}  // namespace
}  // namespace tpurun
