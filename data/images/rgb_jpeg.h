// Turns files of images into RGB or grey JPEG files, as the conversions of ImageNet that come with
// TensorFlow do: one of its 1,281,167 training images is a PNG, 22 are JPEGs in CMYK.
#ifndef TPURUN_DATA_IMAGES_RGB_JPEG_H_
#define TPURUN_DATA_IMAGES_RGB_JPEG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/images/image.h"

namespace tpurun {

struct RgbJpeg {
  std::string bytes;
  ImageSize size;  // of the file; channels are 1 or 3
};

// A grey or RGB JPEG stays as it is. A PNG or a JPEG in CMYK or YCCK becomes an RGB JPEG of quality
// 100. Only the headers of files that stay are read. Errors are those of EncodedImage.
absl::StatusOr<RgbJpeg> ToRgbJpeg(std::string bytes);

struct RgbPixels {
  ImageSize size;               // 3 channels
  std::vector<uint8_t> values;  // (height, width, 3)
};

// nullopt if the JPEG is not in CMYK or YCCK. Without a color profile: R = C K / 255, rounded down,
// and so on, where 255 is no ink, as in tf.io.decode_jpeg.
absl::StatusOr<std::optional<RgbPixels>> DecodeCmykJpeg(std::string_view bytes);

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_RGB_JPEG_H_
