// The window of convolution and pooling layers, which moves over the height and width of an image
// or over the time of a sequence.
#ifndef TPURUN_MODELS_LAYERS_WINDOW_H_
#define TPURUN_MODELS_LAYERS_WINDOW_H_

#include <string>
#include <vector>

#include "models/layers/layer.h"

namespace tpurun {

// Sizes and strides have one number for each axis: {vertical, horizontal} in pixels, or {time} in
// positions. Pads have two, before and after: {top, bottom, left, right}.
struct Window {
  std::vector<int64_t> size;
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;
};

// The values are those of the proto enums. kCausal: as many zeros as kSame with strides of 1, all
// before.
enum class Padding : uint8_t { kValid = 0, kSame = 1, kCausal = 2 };

using WindowSizes = google::protobuf::RepeatedField<int64_t>;

// Returns the padding of SAME along one axis, {before, after}, by TensorFlow's formula: the total
// is max((ceil(in / stride) - 1) stride + span - in, 0), and the smaller half is before.
std::vector<int64_t> SamePads(int64_t in, int64_t span, int64_t stride);

// Returns the window over the first size.size() axes of an example of input 0. With dilations the
// window spans (size - 1) dilation + 1 places of an axis; none: dilations of 1. If the window does
// not fit, reports that under `size_field` ("conv2d.kernel_size") and returns an empty Window.
Window WindowOver(LayerContext& layer, const std::string& size_field, std::vector<int64_t> size,
                  std::vector<int64_t> strides, Padding padding,
                  std::vector<int64_t> dilations = {});

// Returns {v} as {v, v} and {v, w} unchanged. Returns `unset` if `sizes` is empty.
std::vector<int64_t> TwoSizes(const WindowSizes& sizes, std::vector<int64_t> unset);

// Replaces *sizes by TwoSizes(*sizes, unset).
void FillSizes(std::vector<int64_t> unset, WindowSizes* sizes);

// True if input 0 is an image, f32 (N, H, W, C). Reports any other input.
bool IsImage(LayerContext& layer);

// A sequence (N, T, C) as an image of one row, (N, 1, T, C), and back; invalid of an invalid image.
// ImageWindow is the window of that image.
Value ImageOfSequence(GraphBuilder& b, Value x);
Value SequenceOfImage(GraphBuilder& b, Value x);
Window ImageWindow(const Window& time);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_WINDOW_H_
