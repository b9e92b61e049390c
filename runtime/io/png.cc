#include "runtime/io/png.h"

#include <png.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/dcheck.h"

namespace tpurun {

absl::StatusOr<std::string> EncodePng(std::span<const uint8_t> pixels, int64_t height,
                                      int64_t width, int64_t channels) {
  TPURUN_DCHECK(static_cast<int64_t>(pixels.size()) == height * width * channels);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string png(size, '\0');
  if (png_image_write_to_memory(&image, png.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("an image of ", height, " x ", width, " x ",
                                                   channels, ": libpng: ", image.message));
  }
  png.resize(size);
  return png;
}

}  // namespace tpurun
