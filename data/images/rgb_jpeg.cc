#include "data/images/rgb_jpeg.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "data/images/encode.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr int kRgbJpegQuality = 100;
// libjpeg's, of what it writes.
constexpr int64_t kMaxJpegSide = 65500;

absl::StatusOr<RgbPixels> DecodeRgb(std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EncodedImage> image,
                   EncodedImage::Open(bytes, {.channels = 3}));
  const ImageSize& size = image->size();
  if (size.height > kMaxJpegSide || size.width > kMaxJpegSide) {
    return absl::DataLossError(absl::StrCat("a ", image->format(), " of ", size.height, " x ",
                                            size.width, " pixels, want sides of at most ",
                                            kMaxJpegSide, " to make a JPEG of it"));
  }
  RgbPixels rgb = {.size = size};
  rgb.values.resize(size.elements());
  RETURN_IF_ERROR(
      image->Decode({0, 0, size.height, size.width}, size.width * 3, rgb.values.data()));
  return rgb;
}

RgbJpeg Encode(const RgbPixels& rgb) {
  return {EncodeJpeg(rgb.values, rgb.size, kRgbJpegQuality), rgb.size};
}

}  // namespace

absl::StatusOr<RgbJpeg> ToRgbJpeg(std::string bytes) {
  if (!IsJpeg(bytes)) {
    ASSIGN_OR_RETURN(const RgbPixels rgb, DecodeRgb(bytes));
    return Encode(rgb);
  }
  ASSIGN_OR_RETURN(const std::optional<RgbPixels> rgb, DecodeCmykJpeg(bytes));
  if (rgb.has_value()) return Encode(*rgb);
  ASSIGN_OR_RETURN(const std::unique_ptr<EncodedImage> image, EncodedImage::Open(bytes, {}));
  const ImageSize size = image->size();
  return RgbJpeg{std::move(bytes), size};
}

}  // namespace tpurun
