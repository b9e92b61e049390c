// Copies that read by strides: what transpose and broadcast are.
//
// y has dimensions Y0, Y1, ... and lies in order; its element (i, j, ...) is
// x[i strides[0] + j strides[1] + ...], in elements. A stride of 0 repeats.
#ifndef TPURUN_RUNTIME_OPS_STRIDED_COPY_H_
#define TPURUN_RUNTIME_OPS_STRIDED_COPY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/ir/op_def.h"

namespace tpurun {

// For each dimension of `dims` the elements from one entry to the next.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims);

// Element by element. The units of both are entries of y's leading dimension; a scalar has one.
std::unique_ptr<Kernel> StridedCopyReference(const Shape& y, const std::vector<int64_t>& strides);

// Runs of elements that lie together in both are copied as such, others a square tile at a time.
KernelPlan PlanStridedCopy();
std::unique_ptr<Kernel> MakeStridedCopy(const Shape& y, const std::vector<int64_t>& strides,
                                        const KernelPlan& plan);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_STRIDED_COPY_H_
