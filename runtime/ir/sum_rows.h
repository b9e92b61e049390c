// Sums over the rows of a matrix, in an order that depends only on its shape: blocks of 64 rows are
// summed in order, and the block sums are added in a pairwise tree. x and y are (rows, columns) of
// float, or of uint16_t if stored in bf16. center and sums have an element for each column in
// [begin, end).
#ifndef TPURUN_RUNTIME_IR_SUM_ROWS_H_
#define TPURUN_RUNTIME_IR_SUM_ROWS_H_

#include <cstdint>

#include "runtime/ir/op_def.h"
#include "runtime/ir/shape.h"

namespace tpurun {

// The number of rows of a value (..., C).
inline int64_t RowsOf(const Shape& shape) {
  return shape.dims.back() == 0 ? 0 : shape.num_elements() / shape.dims.back();
}

// OpDef::refine_flags of an op whose units are the columns of operand 0, (..., C), which it sums to
// (C): WorkUnit::kColumns if the operand is large, so that its columns are divided.
void DivideSums(const OpCall& call, OpFlags& flags);

// The rows that are summed one after the other.
inline constexpr int64_t kRowBlock = 64;

// sums[c - begin] = sum over r of x[r][c].
template <typename T>
void SumRows(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums);
// sums[c - begin] = sum over r of y[r][c], centered[c - begin] = sum over r of
// y[r][c] (x[r][c] - center[c - begin]). `sums` may be nullptr.
template <typename T, typename U>
void SumCentered(const T* y, const U* x, const float* center, int64_t rows, int64_t columns,
                 int64_t begin, int64_t end, float* sums, float* centered);
// sums[c - begin] = sum over r of x[r][c], squares[c - begin] = sum over r of
// (x[r][c] - sums[c - begin] / rows)^2. The squares of a block are about its own mean. Those of two
// sets of rows are added by the formula of Chan, Golub, LeVeque 1979, "Updating Formulae and a
// Pairwise Algorithm for Computing Sample Variances", so that x is read once. `sums` or `squares`
// may be nullptr.
template <typename T>
void SumMoments(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, float* sums,
                float* squares);

// The same sums of rows that come little by little, but for the bits of a NaN. sums[c] += sum over
// r of x[r][c], for some rows of one block. Before the first of them sums are 0.
template <typename T>
void AddRowsOfBlock(const T* x, int64_t rows, int64_t columns, float* sums);
// sums[c] = sum over b of of_blocks[b][c]. There is at least one block. Overwrites their sums.
void SumBlocksOfRows(float* of_blocks, int64_t blocks, int64_t columns, float* sums);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_SUM_ROWS_H_
