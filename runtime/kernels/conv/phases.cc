#include "runtime/kernels/conv/phases.h"

#include <algorithm>

#include "runtime/base/dcheck.h"
#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {

TapsInside::TapsInside(const Axis& axis, const Phase& phase, int64_t pixel)
    : first_read(pixel * axis.stride + phase.begin * axis.dilation - axis.pad),
      begin(std::min(gemm::DivideUp(std::max<int64_t>(-first_read, 0), axis.dilation), phase.taps)),
      end(std::clamp<int64_t>(gemm::DivideUp(axis.x - first_read, axis.dilation), begin,
                              phase.taps)) {}

int64_t PixelsRead(const Axis& w) {
  return std::max<int64_t>(w.y - 1, 0) * w.stride + (w.kernel - 1) * w.dilation + 1;
}

Convolved OfForward(const Axis& axis) { return {axis, {{.count = axis.y, .taps = axis.kernel}}}; }

Convolved OfInputGrad(const Axis& axis) {
  TPURUN_DCHECK(axis.stride == 1 || axis.dilation == 1);
  Convolved result{{.x = axis.y,
                    .y = gemm::DivideUp(axis.x, axis.stride),
                    .stride = 1,
                    .dilation = axis.dilation}};
  // Pixel p of x is read by pixel (p + pad - k * dilation) / stride of y where that is a whole
  // number: at a stride above 1 for k = remainder, remainder + stride, ...
  int64_t lowest = 0, highest = 0;  // pixels of dy that pixel 0 of any phase reads
  std::vector<int64_t> first_read;
  for (int64_t p = 0; p < std::min(axis.stride, axis.x); ++p) {
    const int64_t remainder = (p + axis.pad) % axis.stride;
    const int64_t taps = std::max<int64_t>(gemm::DivideUp(axis.kernel - remainder, axis.stride), 0);
    const int64_t last = (p + axis.pad) / axis.stride;
    const int64_t first = last - std::max<int64_t>(taps - 1, 0) * axis.dilation;
    const bool is_first = result.phases.empty();
    lowest = is_first ? first : std::min(lowest, first);
    highest = is_first ? last : std::max(highest, last);
    first_read.push_back(first);
    result.phases.push_back({.first = p,
                             .step = axis.stride,
                             .count = gemm::DivideUp(axis.x - p, axis.stride),
                             .taps = taps,
                             .kernel = remainder + (taps - 1) * axis.stride,
                             .kernel_step = -axis.stride});
  }
  for (size_t i = 0; i < result.phases.size(); ++i)
    result.phases[i].begin = (first_read[i] - lowest) / axis.dilation;
  result.axis.pad = -lowest;
  result.axis.kernel = (highest - lowest) / axis.dilation + 1;
  return result;
}

ConvolvedImage ImageOf(const ConvDims& d, bool is_input_grad) {
  const Axis h{d.h, d.oh, d.kh, d.sh, d.dh, d.top}, w{d.w, d.ow, d.kw, d.sw, d.dw, d.left};
  if (is_input_grad) return {OfInputGrad(h), OfInputGrad(w)};
  return {OfForward(h), OfForward(w)};
}

ConvDims OperandDims(const ConvolvedImage& image, int64_t images, int64_t channels) {
  const Axis &h = image.h.axis, &w = image.w.axis;
  ConvDims dims{};
  dims.n = images;
  dims.c = channels;
  dims.h = h.x, dims.oh = h.y, dims.kh = h.kernel, dims.sh = h.stride, dims.dh = h.dilation;
  dims.w = w.x, dims.ow = w.y, dims.kw = w.kernel, dims.sw = w.stride, dims.dw = w.dilation;
  dims.top = h.pad, dims.left = w.pad;
  return dims;
}

}  // namespace tpurun::conv
