// Changes of the colors of RGB images, f32 in [0, 1], as the kernels of tf.image of
// TensorFlow 2.15: tensorflow/core/kernels/image/adjust_{contrast,hue,saturation}_op.cc.
#ifndef TPURUN_DATA_IMAGES_COLOR_H_
#define TPURUN_DATA_IMAGES_COLOR_H_

#include "data/images/image.h"

namespace tpurun {

enum class ColorChange {
  kBrightness,  // x + amount
  kContrast,    // (x - mean of the channel) * amount + mean
  kSaturation,  // the saturation of HSV times amount, at most 1
  kHue,         // the hue of HSV plus amount; 1 is a whole turn
};

// Changes the values in place. Saturation and hue want 3 channels.
void ChangeColors(ColorChange change, float amount, const ImageSize& size, float* values);

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_COLOR_H_
