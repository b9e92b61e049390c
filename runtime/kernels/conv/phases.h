// A convolution, or its gradient of x, as convolutions that read the same rows, one axis at a time.
#ifndef TPURUN_RUNTIME_KERNELS_CONV_PHASES_H_
#define TPURUN_RUNTIME_KERNELS_CONV_PHASES_H_

#include <cstdint>
#include <vector>

#include "runtime/kernels/conv/conv_dims.h"

namespace tpurun::conv {

// A convolution along one axis: x and y of so many pixels, pixel o of y reads pixel
// o * stride + k * dilation - pad of x for every k below `kernel`.
struct Axis {
  int64_t x = 0, y = 0, kernel = 0, stride = 1, dilation = 1;
  int64_t pad = 0;  // before the first pixel; below 0: pixels that none reads
};

// Some pixels of the result: first, first + step, ... Pixel i of them reads the taps
// [begin, begin + taps) of a window, of which `Convolved::axis` says where they lie.
struct Phase {
  int64_t first = 0, step = 1, count = 0;
  int64_t begin = 0, taps = 0;
  // The index in the kernel of the first tap, and from a tap to the next.
  int64_t kernel = 0, kernel_step = 1;

  int64_t KernelAt(int64_t tap) const { return kernel + tap * kernel_step; }
};

// The taps of a phase that lie in the operand for its pixel `pixel`.
struct TapsInside {
  TapsInside(const Axis& axis, const Phase& phase, int64_t pixel);

  int64_t first_read;  // the pixel of the operand that tap 0 reads, if it is one
  int64_t begin, end;
};

// Convolutions of the same pixels. Every pixel of the result is in one phase.
struct Convolved {
  Axis axis;  // its kernel is the window, and its y the pixels of the largest phase
  std::vector<Phase> phases;
};

// Pixels of a row that are read, with the pads, from the first to the last one.
int64_t PixelsRead(const Axis& w);

Convolved OfForward(const Axis& axis);
// The gradient of x, a sum over pixels of dy. Pixels of x whose distance is a multiple of the
// stride read dy through the same elements of the kernel, others through others. So there is a
// phase for each remainder. Strides or dilations, not both, may be above 1.
Convolved OfInputGrad(const Axis& axis);

// Both axes of a convolution, or of its gradient of x.
struct ConvolvedImage {
  Convolved h, w;
};
ConvolvedImage ImageOf(const ConvDims& dims, bool is_input_grad);
// The convolution whose rows of the operand all phases read.
ConvDims OperandDims(const ConvolvedImage& image, int64_t images, int64_t channels);

}  // namespace tpurun::conv

#endif  // TPURUN_RUNTIME_KERNELS_CONV_PHASES_H_
