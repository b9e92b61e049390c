// What convolution and pooling share: a window that moves over the height and width of an image.
#ifndef TPURUN_MODELS_LAYERS_WINDOW_H_
#define TPURUN_MODELS_LAYERS_WINDOW_H_

#include <string>
#include <vector>

#include "models/layers/layer.h"

namespace tpurun {

// Sizes of the vertical and of the horizontal.
struct Window {
  std::vector<int64_t> size;
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;  // {top, bottom, left, right}
};

using WindowSizes = google::protobuf::RepeatedField<int64_t>;

// Pads of SAME along one axis, {before, after}, as TensorFlow does:
// max((ceil(in / stride) - 1) stride + span - in, 0), the smaller half before.
std::vector<int64_t> SamePads(int64_t in, int64_t span, int64_t stride);

// The window over input 0, which is an image. A window that does not fit is reported under
// `size_field` ("conv2d.kernel_size"); the Window is then empty. With dilations it spans
// (size - 1) dilation + 1 pixels.
Window WindowOver(LayerContext& layer, const std::string& size_field, std::vector<int64_t> size,
                  std::vector<int64_t> strides, proto::Conv2d::Padding padding,
                  const std::vector<int64_t>& dilations = {1, 1});

// {v}, {v, w} or `unset` as two sizes.
std::vector<int64_t> TwoSizes(const WindowSizes& sizes, std::vector<int64_t> unset);

// Makes two sizes of `sizes`.
void WriteOutSizes(std::vector<int64_t> unset, WindowSizes* sizes);

// Reports an input 0 that is no image, f32 (N, H, W, C).
bool IsImage(LayerContext& layer);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_WINDOW_H_
