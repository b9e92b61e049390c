#include "runtime/ops/conv_dims.h"

namespace tpurun {

std::vector<int64_t> DilationsOf(const Attrs& attrs) {
  return attrs.Get<std::vector<int64_t>>(kDilations, {1, 1});
}

ConvDims ConvDimsOf(const std::vector<int64_t>& x, const std::vector<int64_t>& kernel,
                    const std::vector<int64_t>& y, const Attrs& attrs) {
  const std::vector<int64_t> strides = attrs.Ints("strides"), pads = attrs.Ints("pads"),
                             dilations = DilationsOf(attrs);
  return {.n = x[0],
          .h = x[1],
          .w = x[2],
          .c = x[3],
          .kh = kernel[0],
          .kw = kernel[1],
          .f = kernel[3],
          .oh = y[1],
          .ow = y[2],
          .sh = strides[0],
          .sw = strides[1],
          .dh = dilations[0],
          .dw = dilations[1],
          .top = pads[0],
          .bottom = pads[1],
          .left = pads[2],
          .right = pads[3],
          .groups = x[3] == kernel[2] ? 1 : x[3] / kernel[2]};
}

FilterGradShare ShareOfFilterGrad(const ConvDims& d, WorkUnit unit, int64_t begin, int64_t end) {
  FilterGradShare share = {.kh_end = d.kh, .f_end = d.f};
  switch (unit) {
    case WorkUnit::kRows:
      share.kh_begin = begin;
      share.kh_end = end;
      break;
    case WorkUnit::kColumns:
      share.f_begin = begin;
      share.f_end = end;
      break;
    default:
      break;
  }
  return share;
}

}  // namespace tpurun
