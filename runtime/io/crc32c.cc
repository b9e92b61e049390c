#include "runtime/io/crc32c.h"

#include <algorithm>
#include <array>

#include "runtime/base/instruction_sets.h"
#include "runtime/io/little_endian.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace tpurun::crc32c {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // x^0 is the top bit

// kTables[k][b]: the register after byte b and then k zero bytes, starting from 0.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (int zeros = 1; zeros < 8; ++zeros) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[zeros - 1][byte];
      tables[zeros][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

constexpr size_t kWord = sizeof(uint64_t);

#if defined(__x86_64__)
// Enough that joining costs nothing beside them, and few enough for a small table.
constexpr size_t kMostStreamWords = 512;

// kShifts[n], n >= 1: x^(64 n - 33) modulo the polynomial. A register multiplied by it without
// carries, where reflection gives one x more, and passed through the instruction, which gives x^32,
// has moved on by n words of zeros.
constexpr std::array<uint32_t, 2 * kMostStreamWords + 1> MakeShifts() {
  std::array<uint32_t, 2 * kMostStreamWords + 1> shifts = {};
  uint32_t power = 1;  // x^31
  for (size_t words = 1; words < shifts.size(); ++words) {
    shifts[words] = power;
    for (int bit = 0; bit < 64; ++bit) {
      power = (power >> 1) ^ ((power & 1) != 0 ? kPolynomial : 0);
    }
  }
  return shifts;
}

constexpr std::array kShifts = MakeShifts();

[[gnu::target("sse4.2,pclmul"), gnu::always_inline]] inline uint64_t Shift(uint64_t crc,
                                                                           size_t words) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(crc)),
                                               _mm_cvtsi64_si128(kShifts[words]), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

// The instruction has a latency of 3 cycles and a throughput of 1: three neighbouring streams keep
// it busy; their registers are then joined, since crc(AB) = crc(A then zeros) xor crc(B from 0).
[[gnu::target("sse4.2,pclmul")]] uint64_t ExtendThreeStreams(uint64_t crc, const char* data,
                                                             size_t stream_words) {
  const char* const second_data = data + stream_words * kWord;
  const char* const third_data = second_data + stream_words * kWord;
  const size_t last = (stream_words - 1) * kWord;
  uint64_t second = 0, third = 0;
  for (size_t offset = 0; offset < last; offset += kWord) {
    crc = _mm_crc32_u64(crc, LoadU64(data + offset));
    second = _mm_crc32_u64(second, LoadU64(second_data + offset));
    third = _mm_crc32_u64(third, LoadU64(third_data + offset));
  }
  crc = _mm_crc32_u64(crc, LoadU64(data + last));
  second = _mm_crc32_u64(second, LoadU64(second_data + last));
  const uint64_t before = Shift(crc, 2 * stream_words) ^ Shift(second, stream_words);
  return _mm_crc32_u64(third, LoadU64(third_data + last) ^ before);
}
#endif

}  // namespace

uint32_t ExtendByTable(uint32_t crc, const char* data, size_t size) {
  crc = ~crc;
  for (; size >= kWord; data += kWord, size -= kWord) {
    const uint64_t word = LoadU64(data) ^ crc;
    crc = 0;
    for (int byte = 0; byte < 8; ++byte) crc ^= kTables[7 - byte][word >> (8 * byte) & 0xff];
  }
  for (; size > 0; ++data, --size) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*data)) & 0xff];
  }
  return ~crc;
}

#if defined(__x86_64__)

bool HasInstruction() {
  static const bool has = InstructionSets::OfThisProcessor().crc32c;
  return has;
}

[[gnu::target("sse4.2,pclmul")]] uint32_t ExtendByInstruction(uint32_t crc, const char* data,
                                                              size_t size) {
  uint64_t state = static_cast<uint32_t>(~crc);
  while (size >= 12 * kWord) {  // joining costs about 14 cycles
    const size_t stream_words = std::min(size / (3 * kWord), kMostStreamWords);
    state = ExtendThreeStreams(state, data, stream_words);
    data += 3 * stream_words * kWord;
    size -= 3 * stream_words * kWord;
  }
  for (; size >= kWord; data += kWord, size -= kWord) state = _mm_crc32_u64(state, LoadU64(data));
  uint32_t rest = static_cast<uint32_t>(state);
  for (; size > 0; ++data, --size) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(*data));
  return ~rest;
}

#else

bool HasInstruction() { return false; }
uint32_t ExtendByInstruction(uint32_t crc, const char* data, size_t size) {
  return ExtendByTable(crc, data, size);
}

#endif

uint32_t Extend(uint32_t crc, const char* data, size_t size) {
  return HasInstruction() ? ExtendByInstruction(crc, data, size) : ExtendByTable(crc, data, size);
}

}  // namespace tpurun::crc32c
