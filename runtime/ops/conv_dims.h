// The dimensions of a convolution, from its shapes and attributes.
#ifndef TPURUN_RUNTIME_OPS_CONV_DIMS_H_
#define TPURUN_RUNTIME_OPS_CONV_DIMS_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/attrs.h"
#include "runtime/ir/op_def.h"
#include "runtime/kernels/conv/conv_dims.h"

namespace tpurun {

// The optional attribute {height, width}.
inline constexpr char kDilations[] = "dilations";
std::vector<int64_t> DilationsOf(const Attrs& attrs);

// `x` is (N, H, W, C), `kernel` (KH, KW, C/groups, F), `y` (N, OH, OW, F). Dimensions and
// attributes must have passed the shape rule.
ConvDims ConvDimsOf(const std::vector<int64_t>& x, const std::vector<int64_t>& kernel,
                    const std::vector<int64_t>& y, const Attrs& attrs);

// The rows kh and the columns f of the gradient of a kernel that a call for the units [begin, end)
// computes.
struct FilterGradShare {
  int64_t kh_begin = 0, kh_end = 0;
  int64_t f_begin = 0, f_end = 0;
};
FilterGradShare ShareOfFilterGrad(const ConvDims& d, WorkUnit unit, int64_t begin, int64_t end);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_CONV_DIMS_H_
