// The sum over the rows of a matrix in an order that depends on nothing but its shape.
#ifndef TPURUN_RUNTIME_OPS_SUM_ROWS_H_
#define TPURUN_RUNTIME_OPS_SUM_ROWS_H_

#include <cstdint>

namespace tpurun {

// x is (rows, columns). sums[c], for begin <= c < end, is the sum of x[r][c] over r: blocks of 64
// rows in order, the block sums in a pairwise tree.
void SumRows(const float* x, int64_t rows, int64_t columns, int64_t begin, int64_t end,
             float* sums);
// The same of bf16 values, and of f32 values that are rounded to bf16 first.
void SumRows(const uint16_t* x, int64_t rows, int64_t columns, int64_t begin, int64_t end,
             float* sums);
void SumRoundedRows(const float* x, int64_t rows, int64_t columns, int64_t begin, int64_t end,
                    float* sums);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_SUM_ROWS_H_
