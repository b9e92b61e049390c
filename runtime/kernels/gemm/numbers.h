// Stored numbers, and how they become the elements that tiles multiply.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_NUMBERS_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_NUMBERS_H_

#include <cstdint>

#include "runtime/kernels/gemm/tiles.h"

namespace tpurun::gemm {

// How the numbers of a matrix are stored.
enum class Storage : uint8_t { kF32, kBF16 };

// The part of a number that is multiplied: the number itself, or a part of runtime/base/
// bfloat16_parts.h.
inline constexpr int kWhole = -1;

// One product of parts of x and y.
struct Parts {
  int x = kWhole;
  int y = kWhole;
};

inline int64_t BytesOf(Storage storage) { return storage == Storage::kBF16 ? 2 : 4; }

// Number `number` of an array.
inline const void* At(const void* data, Storage storage, int64_t number) {
  return static_cast<const char*>(data) + number * BytesOf(storage);
}

// True if the elements are not the stored numbers.
inline bool Converts(const Tiles& tiles, Storage storage, int part) {
  return storage != Storage::kF32 || part != kWhole || tiles.numbers > 1;
}

// A part of n contiguous numbers, as f32.
void Convert(const void* from, Storage storage, int part, int64_t n, float* to);

// The elements of n contiguous numbers that are neighbours along k. Their part is 0 where an
// element has several numbers (Tiles::numbers).
void PackNeighbours(const Tiles& tiles, const void* from, Storage storage, int part, int64_t n,
                    float* to);
// The n elements of two rows that are neighbours along k. Where an element is one number, `next` is
// not read; otherwise nullptr in the place of a row stands for zeros.
void PackRows(const Tiles& tiles, const void* from, const void* next, Storage storage, int part,
              int64_t n, float* to);
// The elements of n numbers of each of `rows` rows, which are neighbours along k. Rows of numbers
// begin `from_row` numbers apart, rows of elements `to_row` floats. Zeros are behind the last row.
void PackAllRows(const Tiles& tiles, const void* from, int64_t from_row, Storage storage, int part,
                 int64_t rows, int64_t n, float* to, int64_t to_row);

}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_NUMBERS_H_
