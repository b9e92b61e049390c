#include "runtime/io/crc32c.h"

#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tpurun::crc32c {
namespace {

// RFC 3720 (iSCSI), B.4, and the check value of the CRC catalogue.
TEST(Crc32c, AgreesWithPublishedValues) {
  EXPECT_EQ(Value(""), 0u);
  EXPECT_EQ(Value("123456789"), 0xE3069283u);
  EXPECT_EQ(Value(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Value(std::string(32, '\xff')), 0x62A8AB43u);
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  falling.assign(rising.rbegin(), rising.rend());
  EXPECT_EQ(Value(rising), 0x46DD794Eu);
  EXPECT_EQ(Value(falling), 0x113FDB5Cu);
}

std::string Noise(size_t size) {
  std::string bytes;
  uint32_t state = 12345;
  while (bytes.size() < size) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

// One bit at a time, straight from the definition.
uint32_t BitByBit(const std::string& data) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : data) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

// All short lengths, where streams begin and get longer, and those around their greatest length.
TEST(Crc32c, InstructionAndTableEqualTheDefinitionAtEveryLength) {
  const std::string noise = Noise(40000);
  std::vector<size_t> sizes(1000);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (const size_t most : {12288, 24576}) {
    for (size_t size = most - 30; size < most + 130; ++size) sizes.push_back(size);
  }
  sizes.push_back(39990);
  for (const size_t size : sizes) {
    for (const size_t start : {0, 1, 3}) {
      const std::string data = noise.substr(start, size);
      const uint32_t want = BitByBit(data);
      EXPECT_EQ(ExtendByTable(0, noise.data() + start, data.size()), want) << size;
      if (HasInstruction()) {
        EXPECT_EQ(ExtendByInstruction(0, noise.data() + start, data.size()), want) << size;
      }
    }
  }
}

TEST(Crc32c, ExtendContinuesWhereTheFirstPartEnded) {
  const std::string noise = Noise(30000);
  for (const size_t cut : {0, 1, 8, 777, 12288, 29999, 30000}) {
    const uint32_t head = Extend(0, noise.data(), cut);
    EXPECT_EQ(Extend(head, noise.data() + cut, noise.size() - cut), Value(noise)) << cut;
    EXPECT_EQ(ExtendByTable(head, noise.data() + cut, noise.size() - cut), Value(noise)) << cut;
  }
}

TEST(Crc32c, MaskRotatesAddsAndIsUndone) {
  EXPECT_EQ(Mask(0), 0xA282EAD8u);
  // Rotated right by 15, bit 15 becomes bit 0.
  EXPECT_EQ(Mask(0x8000), 0xA282EAD9u);
  for (const uint32_t crc : {0u, 1u, 0xE3069283u, 0xFFFFFFFFu}) EXPECT_EQ(Unmask(Mask(crc)), crc);
}

}  // namespace
}  // namespace tpurun::crc32c
