// The window of convolution and pooling layers, which moves over the height and width of an image.
#ifndef TPURUN_MODELS_LAYERS_WINDOW_H_
#define TPURUN_MODELS_LAYERS_WINDOW_H_

#include <string>
#include <vector>

#include "models/layers/layer.h"

namespace tpurun {

// Sizes and strides are {vertical, horizontal}, in pixels.
struct Window {
  std::vector<int64_t> size;
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;  // {top, bottom, left, right}
};

using WindowSizes = google::protobuf::RepeatedField<int64_t>;

// Returns the padding of SAME along one axis, {before, after}, by TensorFlow's formula: the total
// is max((ceil(in / stride) - 1) stride + span - in, 0), and the smaller half is before.
std::vector<int64_t> SamePads(int64_t in, int64_t span, int64_t stride);

// Returns the window over input 0, which must be an image. With dilations the window spans (size -
// 1) dilation + 1 pixels per axis. If the window does not fit, reports that under `size_field`
// ("conv2d.kernel_size") and returns an empty Window.
Window WindowOver(LayerContext& layer, const std::string& size_field, std::vector<int64_t> size,
                  std::vector<int64_t> strides, proto::Conv2d::Padding padding,
                  const std::vector<int64_t>& dilations = {1, 1});

// Returns {v} as {v, v} and {v, w} unchanged. Returns `unset` if `sizes` is empty.
std::vector<int64_t> TwoSizes(const WindowSizes& sizes, std::vector<int64_t> unset);

// Replaces *sizes by TwoSizes(*sizes, unset).
void FillSizes(std::vector<int64_t> unset, WindowSizes* sizes);

// True if input 0 is an image, f32 (N, H, W, C). Reports any other input.
bool IsImage(LayerContext& layer);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_WINDOW_H_
