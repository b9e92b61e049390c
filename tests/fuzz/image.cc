// image: a byte that chooses the options, then a JPEG or a PNG. A window of it is that of the whole
// image.
#include <algorithm>
#include <vector>

#include "data/images/decode.h"
#include "data/images/exif.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

absl::StatusOr<std::vector<uint8_t>> DecodePart(EncodedImage& image, const ImageWindow& window) {
  const int64_t row_bytes = window.width * image.size().channels;
  std::vector<uint8_t> pixels(window.height * row_bytes);
  RETURN_IF_ERROR(image.Decode(window, row_bytes, pixels.data()));
  return pixels;
}

}  // namespace

absl::Status FuzzImage(std::string_view bytes) {
  const uint8_t choice = TakeByte(&bytes);
  constexpr int kChannels[] = {0, 1, 3, 4}, kRatios[] = {1, 1, 2, 8};
  const DecodeOptions options = {.channels = kChannels[choice % 4],
                                 .ratio = kRatios[choice / 4 % 4],
                                 .accurate = choice / 16 % 2 == 1};
  const int orientation = ExifOrientation(bytes);
  CHECK(orientation >= 1 && orientation <= 8);
  ASSIGN_OR_RETURN(const std::unique_ptr<EncodedImage> image, EncodedImage::Open(bytes, options));
  const ImageSize size = image->size();
  if (size.elements() > 1 << 20) return absl::DataLossError("an image that takes long");
  ASSIGN_OR_RETURN(const std::vector<uint8_t> whole,
                   DecodePart(*image, {0, 0, size.height, size.width}));
  const ImageWindow window = {size.height / 3, size.width / 3, size.height - size.height / 2,
                              size.width - size.width / 2};
  ASSIGN_OR_RETURN(const std::unique_ptr<EncodedImage> again, EncodedImage::Open(bytes, options));
  ASSIGN_OR_RETURN(const std::vector<uint8_t> part, DecodePart(*again, window));
  for (int64_t y = 0; y < window.height; ++y) {
    const int64_t row_bytes = window.width * size.channels;
    const uint8_t* const want = &whole[((window.y + y) * size.width + window.x) * size.channels];
    CHECK(std::equal(want, want + row_bytes, &part[y * row_bytes]));
  }
  return absl::OkStatus();
}

}  // namespace tpurun
