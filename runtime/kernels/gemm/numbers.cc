#include "runtime/kernels/gemm/numbers.h"

#include <cstring>

#include "runtime/base/bfloat16.h"
#include "runtime/base/bfloat16_parts.h"

namespace tpurun::gemm {

void Convert(const void* from, Storage storage, int part, int64_t n, float* to) {
  if (n == 0) return;
  if (storage == Storage::kBF16) {
    FromBFloat16(static_cast<const uint16_t*>(from), n, to);
    if (part > 0) BFloat16Parts(to, n, part, to);
    return;
  }
  const float* const numbers = static_cast<const float*>(from);
  if (part == kWhole) {
    std::memcpy(to, numbers, n * static_cast<int64_t>(sizeof(float)));
  } else if (part == 0) {
    RoundInFloat(numbers, n, to);
  } else {
    BFloat16Parts(numbers, n, part, to);
  }
}

void PackNeighbours(const Tiles& tiles, const void* from, Storage storage, int part, int64_t n,
                    float* to) {
  if (tiles.numbers == 1) return Convert(from, storage, part, n, to);
  if (storage == Storage::kBF16)
    return tiles.pair_neighbours_bf16(static_cast<const uint16_t*>(from), n, to);
  tiles.pair_neighbours_f32(static_cast<const float*>(from), n, to);
}

void PackRows(const Tiles& tiles, const void* from, const void* next, Storage storage, int part,
              int64_t n, float* to) {
  if (tiles.numbers == 1) return Convert(from, storage, part, n, to);
  if (storage == Storage::kBF16) {
    return tiles.pair_rows_bf16(static_cast<const uint16_t*>(from),
                                static_cast<const uint16_t*>(next), n, to);
  }
  tiles.pair_rows_f32(static_cast<const float*>(from), static_cast<const float*>(next), n, to);
}

void PackAllRows(const Tiles& tiles, const void* from, int64_t from_row, Storage storage, int part,
                 int64_t rows, int64_t n, float* to, int64_t to_row) {
  if (tiles.numbers == 1) {
    for (int64_t row = 0; row < rows; ++row)
      Convert(At(from, storage, row * from_row), storage, part, n, to + row * to_row);
  } else if (storage == Storage::kBF16) {
    tiles.pair_all_rows_bf16(static_cast<const uint16_t*>(from), from_row, rows, n, to, to_row);
  } else {
    tiles.pair_all_rows_f32(static_cast<const float*>(from), from_row, rows, n, to, to_row);
  }
}

}  // namespace tpurun::gemm
