// Helpers for ops along the last dimension. A row consists of the elements along it.
#ifndef TPURUN_RUNTIME_OPS_ROWS_H_
#define TPURUN_RUNTIME_OPS_ROWS_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/graph_builder.h"

namespace tpurun {

// Calls f(offset of the row in elements) for each row of the share. Work units are entries of the
// leading dimension.
template <typename F>
void ForEachRow(const Shape& shape, const KernelArgs& args, const F& f) {
  const int64_t row = shape.row_elements(), last = shape.dims.back();
  for (int64_t i = args.begin * row; i < args.end * row; i += last) f(i);
}

// The maximum of a row, either zero if both are the largest; NaN if the first element is NaN.
float RowMax(const float* x, int64_t n);
// e[c] = exp(x[c] - max), within 2 units in the last place; 0 below -87. e may be x.
void ExpBelow(const float* x, float max, int64_t n, float* e);
// The sum of the e[c] of ExpBelow, added one after the other.
float SumOfExpBelow(const float* x, float max, int64_t n);

// Broadcasts x (N, ...), which has one element per row, along the rows. The result has the
// dimensions `dims`, (N, ..., C).
Value AlongRows(GraphBuilder& b, Value x, const std::vector<int64_t>& dims);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ROWS_H_
