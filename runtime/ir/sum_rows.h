// Sums over the rows of a matrix, in an order that depends only on its shape: blocks of 64 rows are
// summed in order, and the block sums are added in a pairwise tree. x and y are (rows, columns) of
// float, or of uint16_t if stored in bf16. center and sums have an element for each column in
// [begin, end).
#ifndef TPURUN_RUNTIME_IR_SUM_ROWS_H_
#define TPURUN_RUNTIME_IR_SUM_ROWS_H_

#include <cstdint>

#include "runtime/ir/shape.h"

namespace tpurun {

// The number of rows of a value (..., C).
inline int64_t RowsOf(const Shape& shape) {
  return shape.dims.back() == 0 ? 0 : shape.num_elements() / shape.dims.back();
}

// sums[c - begin] = sum over r of x[r][c].
template <typename T>
void SumRows(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums);
// sums[c - begin] = sum over r of y[r][c] (x[r][c] - center[c - begin]).
template <typename T, typename U>
void SumCentered(const T* y, const U* x, const float* center, int64_t rows, int64_t columns,
                 int64_t begin, int64_t end, float* sums);
// sums[c - begin] = sum over r of (x[r][c] - center[c - begin])^2.
template <typename T>
void SumSquares(const T* x, const float* center, int64_t rows, int64_t columns, int64_t begin,
                int64_t end, float* sums);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_SUM_ROWS_H_
