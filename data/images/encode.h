// Encodes pixels as a JPEG in memory, by libjpeg-turbo. PNG: runtime/io/png.h.
#ifndef TPURUN_DATA_IMAGES_ENCODE_H_
#define TPURUN_DATA_IMAGES_ENCODE_H_

#include <cstdint>
#include <span>
#include <string>

#include "data/images/image.h"

namespace tpurun {

// `pixels` are those of an image with 1 (grey) or 3 (RGB) channels and sides of 1 to 65,500 pixels.
// `quality` is libjpeg's, 1 to 100. Chroma has a quarter of the pixels.
std::string EncodeJpeg(std::span<const uint8_t> pixels, const ImageSize& size, int quality);

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_ENCODE_H_
