// Copies that read with strides: the kernels of transpose and broadcast.
//
// y has dimensions Y0, Y1, ... and is row-major. Its element (i, j, ...) is x[i strides[0] + j
// strides[1] + ...], with strides in elements. A stride of 0 repeats elements.
#ifndef TPURUN_RUNTIME_OPS_STRIDED_COPY_H_
#define TPURUN_RUNTIME_OPS_STRIDED_COPY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// For each dimension of `dims`, the distance in elements from one entry to the next.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims);

// Copies element by element. Here and in MakeStridedCopy the units are entries of the leading
// dimension of y; a scalar has one unit.
std::unique_ptr<Kernel> StridedCopyReference(const Shape& y, const std::vector<int64_t>& strides);

// Copies contiguous runs of x and y at once, other elements in square tiles.
KernelDef StridedCopyKernel(std::function<std::vector<int64_t>(const OpCall& call)> strides_of);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STRIDED_COPY_H_
