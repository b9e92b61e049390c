// A contact sheet: images of one size in a grid, as one image for people. `inspect --png` writes
// it.
#ifndef TPURUN_CLI_CONTACT_SHEET_H_
#define TPURUN_CLI_CONTACT_SHEET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/images/image.h"
#include "runtime/ir/shape.h"

namespace tpurun {

// The most images of a sheet. 32 x 32 of them have about 60 pixels a side.
inline constexpr int64_t kMostSheetImages = 1024;

// The size of the images that rows of that shape are: (height, width), or (height, width, channels)
// with 1, 3 or 4 channels, of F32, BF16 or U8. nullopt for any other shape.
std::optional<ImageSize> ImageSizeOf(const Shape& row);

// Values as pixels.
struct SheetPixels {
  std::vector<uint8_t> pixels;
  float black = 0, white = 255;  // the values that the pixels 0 and 255 stand for
  int64_t not_finite = 0;        // values that are NaN or infinite
};

// U8 values are the pixels. F32 and BF16 values are mapped linearly: the least finite one to 0, the
// greatest to 255, rounded to the nearest. If both are equal, their pixels are 0. NaN
// and -infinity are 0, infinity is 255. `values` are elements of `dtype` in the host's byte order.
SheetPixels ToPixels(DType dtype, std::span<const std::byte> values);

// Places in a sheet. Image i is in line i / columns and column i % columns.
struct SheetLayout {
  ImageSize image;      // as shown
  ImageSize sheet;      // with the channels of the images
  int64_t columns = 0;  // images beside each other
  int64_t lines = 0;    // images below each other
  int64_t caption = 0;  // height of the strip below each image, in pixels
  bool operator==(const SheetLayout&) const = default;

  // The upper left pixel of image i.
  int64_t x(int64_t i) const;
  int64_t y(int64_t i) const;
};

// The layout of `count` images of the size `image`, 1 to kMostSheetImages: no side of the sheet has
// more than 2,000 pixels. Images whose longer side has at most 64 pixels are enlarged by a whole
// factor; images that do not fit are reduced. Within that the images are as large as possible, and
// then the sheet is as square as possible. `captions`: there is a strip for a number below each
// image.
SheetLayout LayOutSheet(int64_t count, const ImageSize& image, bool captions);

// The pixels of the sheet, row-major. `pixels` are those of the images of the size `image`, one
// after the other. `numbers`: one for each image, written below it if it is wide enough; empty if
// the layout has no captions. Enlarged pixels are squares; reduced images have the means of the
// areas.
std::vector<uint8_t> ComposeSheet(const SheetLayout& layout, const ImageSize& image,
                                  std::span<const uint8_t> pixels,
                                  std::span<const int64_t> numbers);

}  // namespace tpurun

#endif  // TPURUN_CLI_CONTACT_SHEET_H_
