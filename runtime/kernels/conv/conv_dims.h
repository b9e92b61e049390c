// The dimensions of a convolution, for all three of its directions.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_CONV_DIMS_H_
#define TPURUN_RUNTIME_KERNELS_CONV_CONV_DIMS_H_

#include <cstdint>

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

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_KERNELS_CONV_CONV_DIMS_H_
