// Counter-based random numbers: Philox4x32-10 of Random123. There is no state: number i of a stream
// is a function of (seed, stream, counter words, i). Any thread can therefore draw any element in
// any order.
#ifndef TPURUN_RUNTIME_BASE_RANDOM_H_
#define TPURUN_RUNTIME_BASE_RANDOM_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "Random123/philox.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/philox.h"

namespace tpurun {

// A 32-bit name for a stream, fixed for all time: FNV-1a of the text.
constexpr uint32_t StreamOf(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

// A seed below 2^32 is its own key. The upper half of a larger seed is spread over all bits (golden
// ratio).
constexpr uint32_t PhiloxKey(uint64_t seed) {
  return static_cast<uint32_t>(seed) ^ static_cast<uint32_t>(seed >> 32) * 0x9e3779b9u;
}

// The four 32-bit lanes of block `block` of a stream. `a` and `b` are the further inputs of the
// stream, for example (global step, replica) or (epoch, 0). Element i of the stream is lane i % 4
// of block i / 4.
inline std::array<uint32_t, 4> PhiloxBlock(uint64_t seed, uint32_t stream, uint32_t a, uint32_t b,
                                           uint64_t block) {
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), a, b}};
  const r123::Philox4x32::key_type key = {{PhiloxKey(seed), stream}};
  const r123::Philox4x32::ctr_type lanes = r123::Philox4x32()(counter, key);
  return {lanes[0], lanes[1], lanes[2], lanes[3]};
}

// blocks.words[w][l] = word w of block first + l * stride, with the values of PhiloxBlock.
void DrawPhiloxBlocks(uint64_t seed, uint32_t stream, uint32_t a, uint32_t b, uint64_t first,
                      uint64_t stride, PhiloxBlocks& blocks);

inline uint32_t PhiloxElement(uint64_t seed, uint32_t stream, uint32_t a, uint32_t b, uint64_t i) {
  return PhiloxBlock(seed, stream, a, b, i / 4)[i % 4];
}

// A number in [0, 1) with 24 random bits: every value is exact in f32.
inline float UniformFloat(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// An integer in [0, n) from 64 random bits, n >= 1. The bias of at most n / 2^64 is ignored.
inline uint64_t UniformBelow(uint32_t high, uint32_t low, uint64_t n) {
  TPURUN_DCHECK(n >= 1);
  const uint64_t bits = (static_cast<uint64_t>(high) << 32) | low;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * n) >> 64);
}

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_BASE_RANDOM_H_
