// Images as rows of a column: u8 or f32 values of shape (height, width, channels), row-major.
#ifndef TPURUN_DATA_IMAGES_IMAGE_H_
#define TPURUN_DATA_IMAGES_IMAGE_H_

#include <cstdint>

namespace tpurun {

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t pixels() const { return height * width; }
  int64_t elements() const { return pixels() * channels; }
  bool operator==(const ImageSize&) const = default;
};

// A rectangle of pixels. It may extend beyond the image: the pixels there are 0.
struct ImageWindow {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;

  bool operator==(const ImageWindow&) const = default;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_IMAGE_H_
