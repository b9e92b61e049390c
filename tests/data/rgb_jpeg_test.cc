// JPEGs in CMYK and YCCK, and PNGs, become RGB JPEGs; others stay as they are.
#include "data/images/rgb_jpeg.h"

#include <memory>
#include <string>
#include <vector>

#include "data/images/decode.h"
#include "data/images/encode.h"
#include "gtest/gtest.h"
#include "runtime/io/png.h"
#include "tests/data/encode_jpeg.h"

namespace tpurun {
namespace {

// Two blocks of one color each, so that every pixel is what its block says.
constexpr int64_t kTestHeight = 8, kTestWidth = 16;
using Inks = std::vector<uint8_t>;

// A CMYK file of quality 100. `adobe` is the marker that says that the inks are inverted.
std::string CmykJpeg(const Inks& left, const Inks& right, J_COLOR_SPACE stored, bool adobe) {
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < kTestHeight * kTestWidth; ++i) {
    const Inks& inks = i % kTestWidth < kTestWidth / 2 ? left : right;
    pixels.insert(pixels.end(), inks.begin(), inks.end());
  }
  return EncodeJpegAs(pixels, {kTestHeight, kTestWidth, 4}, JCS_CMYK,
                      [&](jpeg_compress_struct& info) {
                        jpeg_set_colorspace(&info, stored);
                        jpeg_set_quality(&info, 100, TRUE);
                        for (int c = 0; c < 4; ++c) {
                          info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
                        }
                        info.write_Adobe_marker = adobe ? TRUE : FALSE;
                      });
}

// The first and the last pixel, and that each half has one color.
std::vector<std::vector<int>> Halves(const std::vector<uint8_t>& values) {
  std::vector<std::vector<int>> halves;
  for (const int64_t first : {int64_t{0}, kTestWidth / 2}) {
    const std::vector<int> color(&values[first * 3], &values[first * 3 + 3]);
    halves.push_back(color);
    for (int64_t y = 0; y < kTestHeight; ++y) {
      for (int64_t x = first; x < first + kTestWidth / 2; ++x) {
        const uint8_t* const pixel = &values[(y * kTestWidth + x) * 3];
        EXPECT_EQ(std::vector<int>(pixel, pixel + 3), color) << y << " " << x;
      }
    }
  }
  return halves;
}

std::vector<uint8_t> Decoded(const std::string& jpeg) {
  const auto image = EncodedImage::Open(jpeg, {.channels = 3}).value();
  EXPECT_EQ(image->size(), (ImageSize{kTestHeight, kTestWidth, 3}));
  std::vector<uint8_t> values(image->size().elements());
  EXPECT_TRUE(image->Decode({0, 0, kTestHeight, kTestWidth}, kTestWidth * 3, values.data()).ok());
  return values;
}

void ExpectNear(const std::vector<int>& got, const std::vector<int>& want, int tolerance) {
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

// 200 * 100 / 255 = 78.4, 90 * 100 / 255 = 35.3, 10 * 100 / 255 = 3.9.
TEST(RgbJpegTest, AdobesInksAreInverted) {
  const std::string jpeg = CmykJpeg({200, 90, 10, 100}, {255, 0, 128, 255}, JCS_CMYK, true);
  const auto rgb = DecodeCmykJpeg(jpeg).value().value();
  EXPECT_EQ(rgb.size, (ImageSize{kTestHeight, kTestWidth, 3}));
  EXPECT_EQ(Halves(rgb.values), (std::vector<std::vector<int>>{{78, 35, 3}, {255, 0, 128}}));
}

// (255 - 200) * (255 - 100) / 255 = 33.4, 165 * 155 / 255 = 100.3, 245 * 155 / 255 = 148.9.
TEST(RgbJpegTest, OtherInksAreNot) {
  const std::string jpeg = CmykJpeg({200, 90, 10, 100}, {255, 0, 128, 0}, JCS_CMYK, false);
  const auto rgb = DecodeCmykJpeg(jpeg).value().value();
  EXPECT_EQ(Halves(rgb.values), (std::vector<std::vector<int>>{{33, 100, 148}, {0, 255, 127}}));
}

// Grey is exact: Cb and Cr are 128. Others are rounded in YCC, within 2.
TEST(RgbJpegTest, InksThatAreStoredAsYcck) {
  const std::string jpeg = CmykJpeg({120, 120, 120, 255}, {200, 90, 10, 100}, JCS_YCCK, true);
  const auto halves = Halves(DecodeCmykJpeg(jpeg).value().value().values);
  EXPECT_EQ(halves[0], (std::vector<int>{120, 120, 120}));
  ExpectNear(halves[1], {78, 35, 3}, 2);
}

// Chroma has a quarter of the pixels: each half has a color of its own only if both are grey.
TEST(RgbJpegTest, TheyBecomeRgbJpegs) {
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    const std::string jpeg = CmykJpeg({200, 200, 200, 100}, {60, 60, 60, 255}, stored, true);
    EXPECT_FALSE(EncodedImage::Open(jpeg, {}).ok());  // of the pipeline
    const RgbJpeg made = ToRgbJpeg(jpeg).value();
    EXPECT_EQ(made.size, (ImageSize{kTestHeight, kTestWidth, 3}));
    const auto halves = Halves(Decoded(made.bytes));
    ExpectNear(halves[0], {78, 78, 78}, 1);
    ExpectNear(halves[1], {60, 60, 60}, 1);
  }
  const std::string jpeg = CmykJpeg({200, 90, 10, 100}, {200, 90, 10, 100}, JCS_CMYK, true);
  ExpectNear(Halves(Decoded(ToRgbJpeg(jpeg)->bytes))[1], {78, 35, 3}, 2);
}

TEST(RgbJpegTest, APngBecomesAnRgbJpeg) {
  std::vector<uint8_t> rgba;
  for (int64_t i = 0; i < kTestHeight * kTestWidth; ++i) {
    rgba.insert(rgba.end(), {210, 30, 90, 7});
  }
  const std::string png = EncodePng(rgba, kTestHeight, kTestWidth, 4).value();
  const RgbJpeg made = ToRgbJpeg(png).value();
  EXPECT_TRUE(IsJpeg(made.bytes));
  EXPECT_EQ(made.size, (ImageSize{kTestHeight, kTestWidth, 3}));
  ExpectNear(Halves(Decoded(made.bytes))[0], {210, 30, 90}, 2);
}

TEST(RgbJpegTest, OtherJpegsStayAsTheyAre) {
  const std::vector<uint8_t> pixels(kTestHeight * kTestWidth * 3, 99);
  for (const int64_t channels : {1, 3}) {
    const ImageSize size = {kTestHeight, kTestWidth, channels};
    const std::string jpeg =
        EncodeJpeg(std::span(pixels).first(size.elements()), size, 50) + "behind the end";
    const RgbJpeg made = ToRgbJpeg(jpeg).value();
    EXPECT_EQ(made.bytes, jpeg);
    EXPECT_EQ(made.size, size);
  }
}

TEST(RgbJpegTest, WhatIsDamaged) {
  const std::string jpeg = CmykJpeg({200, 90, 10, 100}, {255, 0, 128, 0}, JCS_CMYK, true);
  const auto message = [](const std::string& bytes) {
    return std::string(ToRgbJpeg(bytes).status().message());
  };
  EXPECT_EQ(message(jpeg.substr(0, jpeg.size() - 20)), "a JPEG whose last bytes are missing");
  EXPECT_EQ(message(jpeg.substr(0, 10)), "a JPEG whose last bytes are missing");
  EXPECT_EQ(message("GIF89a"), "got a GIF, want a JPEG or a PNG");
  EXPECT_EQ(message(""), "got no bytes, want a JPEG or a PNG");
  const std::vector<uint8_t> row(70000, 1);
  EXPECT_EQ(message(EncodePng(row, 1, 70000, 1).value()),
            "a PNG of 1 x 70000 pixels, want sides of at most 65500 to make a JPEG of it");
}

}  // namespace
}  // namespace tpurun
