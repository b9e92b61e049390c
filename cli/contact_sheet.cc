#include "cli/contact_sheet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/images/resize.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/dcheck.h"

namespace tpurun {
namespace {

constexpr int64_t kMostSide = 2000;  // pixels: what a screen shows, and a browser without scrolling
constexpr int64_t kMargin = 2;       // between the images and around them
constexpr int64_t kEnlargedSide = 128;  // the most pixels that the longer side is enlarged to
// Neither black nor white, so that the borders of all images are seen.
constexpr uint8_t kBackground = 64;
constexpr uint8_t kInk = 255;

// Digits of 3 x 5 dots; the highest bit of a row is its left dot. Each dot is a square.
constexpr int64_t kDot = 2, kGlyphWidth = 3, kGlyphHeight = 5;
constexpr int64_t kAdvance = (kGlyphWidth + 1) * kDot;
constexpr int64_t kCaptionHeight = kGlyphHeight * kDot + 2;  // with a pixel above and one below
struct Glyph {
  char character;
  uint8_t rows[kGlyphHeight];
};
constexpr Glyph kGlyphs[] = {
    {'0', {7, 5, 5, 5, 7}}, {'1', {2, 6, 2, 2, 7}}, {'2', {7, 1, 7, 4, 7}}, {'3', {7, 1, 7, 1, 7}},
    {'4', {5, 5, 7, 1, 1}}, {'5', {7, 4, 7, 1, 7}}, {'6', {7, 4, 7, 5, 7}}, {'7', {7, 1, 1, 2, 2}},
    {'8', {7, 5, 7, 5, 7}}, {'9', {7, 5, 7, 1, 7}}, {'-', {0, 0, 7, 0, 0}},
};

// The pixels of a sheet, to draw on.
class Canvas {
 public:
  explicit Canvas(const ImageSize& size)
      : size_(size), pixels_(static_cast<size_t>(size.elements()), kBackground) {
    for (int64_t i = 3; size.channels == 4 && i < size.elements(); i += 4) pixels_[i] = 255;
  }

  uint8_t* At(int64_t y, int64_t x) {
    TPURUN_DCHECK(y >= 0 && y < size_.height && x >= 0 && x < size_.width);
    return pixels_.data() + (y * size_.width + x) * size_.channels;
  }

  // A square of ink.
  void Dot(int64_t top, int64_t left) {
    for (int64_t y = top; y < top + kDot; ++y) {
      uint8_t* const row = At(y, left);
      std::fill(row, row + kDot * size_.channels, kInk);
    }
  }

  std::vector<uint8_t> TakePixels() && { return std::move(pixels_); }

 private:
  const ImageSize size_;
  std::vector<uint8_t> pixels_;
};

void DrawGlyph(const Glyph& glyph, int64_t top, int64_t left, Canvas& canvas) {
  for (int64_t row = 0; row < kGlyphHeight; ++row) {
    for (int64_t column = 0; column < kGlyphWidth; ++column) {
      if ((glyph.rows[row] >> (kGlyphWidth - 1 - column) & 1) == 0) continue;
      canvas.Dot(top + row * kDot, left + column * kDot);
    }
  }
}

// Nothing if it is wider than `width`.
void DrawNumber(int64_t number, int64_t top, int64_t left, int64_t width, Canvas& canvas) {
  const std::string digits = absl::StrCat(number);
  if (std::ssize(digits) * kAdvance > width) return;
  for (const char digit : digits) {
    const auto* const glyph = std::find_if(std::begin(kGlyphs), std::end(kGlyphs),
                                           [&](const Glyph& g) { return g.character == digit; });
    DrawGlyph(*glyph, top, left, canvas);
    left += kAdvance;
  }
}

// One image at the size that the sheet shows.
class Scaler {
 public:
  Scaler(const ImageSize& from, const ImageSize& to)
      : from_(from),
        to_(to),
        enlarges_(to.height >= from.height && to.width >= from.width),
        resizer_(proto::Resize::AREA, /*half_pixel_centers=*/false, to.height, to.width) {
    if (!enlarges_) means_.resize(to.elements());
  }

  void Draw(const uint8_t* image, int64_t top, int64_t left, Canvas& canvas) {
    if (!enlarges_) resizer_.Resize(image, from_, means_.data());
    for (int64_t y = 0; y < to_.height; ++y) {
      for (int64_t x = 0; x < to_.width; ++x) {
        DrawPixel(image, y, x, canvas.At(top + y, left + x));
      }
    }
  }

 private:
  void DrawPixel(const uint8_t* image, int64_t y, int64_t x, uint8_t* to) const {
    if (enlarges_) {
      const int64_t factor = to_.width / from_.width;
      const int64_t pixel = y / factor * from_.width + x / factor;
      std::memcpy(to, image + pixel * from_.channels, from_.channels);
      return;
    }
    const float* const mean = means_.data() + (y * to_.width + x) * to_.channels;
    for (int64_t c = 0; c < to_.channels; ++c) {
      to[c] = static_cast<uint8_t>(std::lround(std::clamp(mean[c], 0.0f, 255.0f)));
    }
  }

  const ImageSize from_, to_;
  const bool enlarges_;
  Resizer resizer_;
  std::vector<float> means_;
};

SheetPixels FromFloats(std::span<const float> values) {
  SheetPixels made{.black = INFINITY, .white = -INFINITY};
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++made.not_finite;
      continue;
    }
    made.black = std::min(made.black, value);
    made.white = std::max(made.white, value);
  }
  if (made.black > made.white) made.black = made.white = 0;
  const double range = static_cast<double>(made.white) - made.black;
  made.pixels.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    const double above = static_cast<double>(values[i]) - made.black;
    const double share = above <= 0 ? 0 : above / range;
    made.pixels[i] = static_cast<uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
  }
  return made;
}

// The layout with that many columns. nullopt if it has no room for a pixel of each image.
std::optional<SheetLayout> LayOutColumns(int64_t count, int64_t columns, const ImageSize& image,
                                         int64_t caption) {
  const int64_t lines = (count + columns - 1) / columns;
  const int64_t width = (kMostSide - kMargin) / columns - kMargin;
  const int64_t height = (kMostSide - kMargin) / lines - kMargin - caption;
  if (width < 1 || height < 1) return std::nullopt;
  const double fits = std::min(static_cast<double>(width) / static_cast<double>(image.width),
                               static_cast<double>(height) / static_cast<double>(image.height));
  const int64_t most = std::max<int64_t>(1, kEnlargedSide / std::max(image.height, image.width));
  const double scale = std::min(fits < 1 ? fits : std::floor(fits), static_cast<double>(most));
  const auto scaled = [&](int64_t side) {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(side) * scale));
  };
  SheetLayout layout{.columns = columns, .lines = lines, .caption = caption};
  layout.image = {scaled(image.height), scaled(image.width), image.channels};
  layout.sheet = {lines * (layout.image.height + caption + kMargin) + kMargin,
                  columns * (layout.image.width + kMargin) + kMargin, image.channels};
  return layout;
}

}  // namespace

std::optional<ImageSize> ImageSizeOf(const Shape& row) {
  const bool of_pixels =
      row.dtype == DType::kF32 || row.dtype == DType::kBF16 || row.dtype == DType::kU8;
  if (!of_pixels || row.rank() < 2 || row.rank() > 3) return std::nullopt;
  const ImageSize size = {row.dims[0], row.dims[1], row.rank() == 2 ? 1 : row.dims[2]};
  const bool drawn = size.channels == 1 || size.channels == 3 || size.channels == 4;
  return drawn && size.pixels() > 0 ? std::optional(size) : std::nullopt;
}

SheetPixels ToPixels(DType dtype, std::span<const std::byte> values) {
  const size_t count = values.size() / ByteSize(dtype);
  if (dtype == DType::kU8) {
    SheetPixels made;
    made.pixels.resize(count);
    std::memcpy(made.pixels.data(), values.data(), count);
    return made;
  }
  std::vector<float> floats(count);
  if (dtype == DType::kF32) {
    std::memcpy(floats.data(), values.data(), values.size());
  } else {
    std::vector<uint16_t> bits(count);
    std::memcpy(bits.data(), values.data(), values.size());
    FromBFloat16(bits.data(), static_cast<int64_t>(count), floats.data());
  }
  return FromFloats(floats);
}

int64_t SheetLayout::x(int64_t i) const { return kMargin + i % columns * (image.width + kMargin); }

int64_t SheetLayout::y(int64_t i) const {
  return kMargin + i / columns * (image.height + caption + kMargin);
}

SheetLayout LayOutSheet(int64_t count, const ImageSize& image, bool captions) {
  TPURUN_DCHECK(count >= 1 && count <= kMostSheetImages);
  SheetLayout best;
  for (int64_t columns = 1; columns <= count; ++columns) {
    const std::optional<SheetLayout> layout =
        LayOutColumns(count, columns, image, captions ? kCaptionHeight : 0);
    if (!layout.has_value()) continue;
    const auto longer = [](const ImageSize& size) { return std::max(size.height, size.width); };
    const int64_t larger = longer(layout->image) - longer(best.image);
    if (larger > 0 || (larger == 0 && longer(layout->sheet) <= longer(best.sheet))) best = *layout;
  }
  return best;
}

std::vector<uint8_t> ComposeSheet(const SheetLayout& layout, const ImageSize& image,
                                  std::span<const uint8_t> pixels,
                                  std::span<const int64_t> numbers) {
  const int64_t count = std::ssize(pixels) / image.elements();
  TPURUN_DCHECK(numbers.empty() || std::ssize(numbers) == count);
  Canvas canvas(layout.sheet);
  Scaler scaler(image, layout.image);
  for (int64_t i = 0; i < count; ++i) {
    scaler.Draw(pixels.data() + i * image.elements(), layout.y(i), layout.x(i), canvas);
    if (numbers.empty()) continue;
    DrawNumber(numbers[i], layout.y(i) + layout.image.height + 1, layout.x(i), layout.image.width,
               canvas);
  }
  return std::move(canvas).TakePixels();
}

}  // namespace tpurun
