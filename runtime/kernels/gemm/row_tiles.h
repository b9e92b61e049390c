// Rows and columns of z as tiles.
#ifndef TPURUN_RUNTIME_KERNELS_GEMM_ROW_TILES_H_
#define TPURUN_RUNTIME_KERNELS_GEMM_ROW_TILES_H_

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::gemm {

// Rows divided into tiles as equal as possible: the first `larger` have one row more than the rest.
struct RowTiles {
  RowTiles(int64_t rows, int most_rows)
      : count(DivideUp(rows, most_rows)),
        rows_of_smaller(static_cast<int>(count == 1 ? rows : rows / count)),
        larger(rows - count * rows_of_smaller) {}

  int64_t Begin(int64_t tile) const { return tile * rows_of_smaller + std::min(tile, larger); }
  int Rows(int64_t tile) const { return rows_of_smaller + (tile < larger ? 1 : 0); }

  int64_t count;
  int rows_of_smaller;
  int64_t larger;
};

// Columns, one or more, as vectors. The last one may be filled in part.
struct ColumnVectors {
  ColumnVectors(int64_t columns, int lanes)
      : count(static_cast<int>(DivideUp(columns, lanes))),
        last_lanes(static_cast<int>(columns - int64_t{count - 1} * lanes)) {}

  int count;
  int last_lanes;
};

}  // namespace tpurun::gemm

#endif  // TPURUN_RUNTIME_KERNELS_GEMM_ROW_TILES_H_
