// The dimensions of a convolution, for all three of its directions.
#ifndef TPURUN_RUNTIME_OPS_CONV_DIMS_H_
#define TPURUN_RUNTIME_OPS_CONV_DIMS_H_

#include <cstdint>
#include <vector>

#include "runtime/ir/attrs.h"

namespace tpurun {

struct ConvDims {
  int64_t n, h, w, c;                // x, NHWC
  int64_t kh, kw, f;                 // kernel, HWIO
  int64_t oh, ow;                    // y, NHWC
  int64_t sh, sw;                    // strides
  int64_t dh, dw;                    // dilations
  int64_t top, bottom, left, right;  // pads
  int64_t groups;                    // an output channel reads only the input channels of its group

  int64_t group_c() const { return c / groups; }
  int64_t group_f() const { return f / groups; }
  double MultiplyAdds(double images) const { return images * oh * ow * kh * kw * group_c() * f; }
};

// The optional attribute {height, width}.
inline constexpr char kDilations[] = "dilations";
std::vector<int64_t> DilationsOf(const Attrs& attrs);

// `x` is (N, H, W, C), `kernel` (KH, KW, C/groups, F), `y` (N, OH, OW, F). Dimensions and
// attributes must have passed the shape rule.
ConvDims ConvDimsOf(const std::vector<int64_t>& x, const std::vector<int64_t>& kernel,
                    const std::vector<int64_t>& y, const Attrs& attrs);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_CONV_DIMS_H_
