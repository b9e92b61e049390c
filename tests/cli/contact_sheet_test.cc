#include "cli/contact_sheet.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint8_t kBackground = 64;

TEST(ContactSheetTest, ImagesAreOfPixels) {
  const auto size = [](DType dtype, std::vector<int64_t> dims) {
    return ImageSizeOf({.dtype = dtype, .dims = std::move(dims)});
  };
  EXPECT_EQ(size(DType::kU8, {5, 7}), (ImageSize{5, 7, 1}));
  EXPECT_EQ(size(DType::kF32, {5, 7, 1}), (ImageSize{5, 7, 1}));
  EXPECT_EQ(size(DType::kBF16, {5, 7, 3}), (ImageSize{5, 7, 3}));
  EXPECT_EQ(size(DType::kU8, {5, 7, 4}), (ImageSize{5, 7, 4}));
  EXPECT_EQ(size(DType::kU8, {5, 7, 2}), std::nullopt);
  EXPECT_EQ(size(DType::kU8, {784}), std::nullopt);
  EXPECT_EQ(size(DType::kU8, {2, 5, 7, 3}), std::nullopt);
  EXPECT_EQ(size(DType::kS32, {5, 7, 3}), std::nullopt);
  EXPECT_EQ(size(DType::kPred, {5, 7}), std::nullopt);
}

TEST(ContactSheetTest, BytesAreThePixels) {
  const std::vector<uint8_t> values = {0, 1, 200, 255};
  const SheetPixels made = ToPixels(DType::kU8, std::as_bytes(std::span(values)));
  EXPECT_EQ(made.pixels, values);
  EXPECT_EQ(made.black, 0);
  EXPECT_EQ(made.white, 255);
  EXPECT_EQ(made.not_finite, 0);
}

TEST(ContactSheetTest, FloatsAreMappedFromTheLeastToTheGreatest) {
  const std::vector<float> values = {0, -2, 3, -1, kNan, INFINITY, -INFINITY};
  const SheetPixels made = ToPixels(DType::kF32, std::as_bytes(std::span(values)));
  EXPECT_THAT(made.pixels, ElementsAre(102, 0, 255, 51, 0, 255, 0));
  EXPECT_EQ(made.black, -2);
  EXPECT_EQ(made.white, 3);
  EXPECT_EQ(made.not_finite, 3);

  // 1 and -0.5.
  const std::vector<uint16_t> bits = {0x3f80, 0xbf00};
  const SheetPixels rounded = ToPixels(DType::kBF16, std::as_bytes(std::span(bits)));
  EXPECT_THAT(rounded.pixels, ElementsAre(255, 0));
  EXPECT_EQ(rounded.black, -0.5f);

  const float most = std::numeric_limits<float>::max();
  const std::vector<float> wide = {-most, most, 0};
  EXPECT_THAT(ToPixels(DType::kF32, std::as_bytes(std::span(wide))).pixels,
              ElementsAre(0, 255, 128));
}

TEST(ContactSheetTest, OneValueIsBlack) {
  const std::vector<float> values = {3, 3, INFINITY};
  const SheetPixels made = ToPixels(DType::kF32, std::as_bytes(std::span(values)));
  EXPECT_THAT(made.pixels, ElementsAre(0, 0, 255));
  EXPECT_EQ(made.black, 3);
  EXPECT_EQ(made.white, 3);
  const std::vector<float> none = {kNan};
  EXPECT_THAT(ToPixels(DType::kF32, std::as_bytes(std::span(none))).pixels, ElementsAre(0));
}

TEST(ContactSheetTest, SmallImagesAreEnlargedByAWholeFactor) {
  EXPECT_EQ(
      LayOutSheet(3, {64, 64, 3}, false),
      (SheetLayout{.image = {128, 128, 3}, .sheet = {262, 262, 3}, .columns = 2, .lines = 2}));
  EXPECT_EQ(LayOutSheet(3, {64, 64, 3}, true), (SheetLayout{.image = {128, 128, 3},
                                                            .sheet = {286, 262, 3},
                                                            .columns = 2,
                                                            .lines = 2,
                                                            .caption = 12}));
  // 42 times.
  EXPECT_EQ(LayOutSheet(1, {2, 3, 1}, false).image, (ImageSize{84, 126, 1}));
  EXPECT_EQ(LayOutSheet(2, {65, 20, 1}, false).image, (ImageSize{65, 20, 1}));
}

TEST(ContactSheetTest, LargeImagesAreReduced) {
  EXPECT_EQ(
      LayOutSheet(32, {1000, 1000, 3}, false),
      (SheetLayout{.image = {331, 331, 3}, .sheet = {2000, 2000, 3}, .columns = 6, .lines = 6}));
}

TEST(ContactSheetTest, SheetsFitAndHoldAllImages) {
  for (const int64_t count : {1, 2, 7, 32, 1000, 1024}) {
    for (const auto& [height, width] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {28, 28}, {224, 224}, {5000, 3000}, {1, 100000}, {100000, 1}, {17, 3}}) {
      for (const bool captions : {false, true}) {
        const SheetLayout layout = LayOutSheet(count, {height, width, 1}, captions);
        const std::string what = testing::PrintToString(std::vector{count, height, width});
        EXPECT_LE(std::max(layout.sheet.height, layout.sheet.width), 2000) << what;
        EXPECT_GE(std::min(layout.image.height, layout.image.width), 1) << what;
        EXPECT_GE(layout.columns * layout.lines, count) << what;
        const int64_t right = layout.x(layout.columns - 1) + layout.image.width;
        const int64_t bottom = layout.y(count - 1) + layout.image.height + layout.caption;
        EXPECT_EQ(right + 2, layout.sheet.width) << what;
        EXPECT_EQ(bottom + 2, layout.sheet.height) << what;
      }
    }
  }
}

TEST(ContactSheetTest, PixelsBecomeSquaresWithinTheirMargins) {
  // Two images of two pixels, 64 times as large, one below the other.
  const SheetLayout layout = LayOutSheet(2, {1, 2, 3}, false);
  ASSERT_EQ(layout.sheet, (ImageSize{134, 132, 3}));
  const std::vector<uint8_t> pixels = {1, 2, 3, 10, 20, 30, 100, 101, 102, 200, 201, 202};
  std::vector<uint8_t> want;
  for (int y = 0; y < 134; ++y) {
    for (int x = 0; x < 132; ++x) {
      const int image = y < 67 ? 0 : 1;
      const int row = y - (image == 0 ? 2 : 68);
      const bool inside = row >= 0 && row < 64 && x >= 2 && x < 130;
      for (int c = 0; c < 3; ++c) {
        want.push_back(inside ? pixels[image * 6 + (x < 66 ? 0 : 3) + c] : kBackground);
      }
    }
  }
  EXPECT_EQ(ComposeSheet(layout, {1, 2, 3}, pixels, {}), want);
}

TEST(ContactSheetTest, TheBackgroundIsOpaque) {
  const SheetLayout layout = LayOutSheet(1, {1, 1, 4}, false);
  const std::vector<uint8_t> sheet =
      ComposeSheet(layout, {1, 1, 4}, std::vector<uint8_t>{1, 2, 3, 0}, {});
  EXPECT_THAT(std::vector<uint8_t>(sheet.begin(), sheet.begin() + 4),
              ElementsAre(kBackground, kBackground, kBackground, 255));
  const auto first = sheet.begin() + (2 * layout.sheet.width + 2) * 4;
  EXPECT_THAT(std::vector<uint8_t>(first, first + 4), ElementsAre(1, 2, 3, 0));
}

TEST(ContactSheetTest, ReducedPixelsAreMeans) {
  constexpr ImageSize kSize = {2, 3992, 1};
  const SheetLayout layout = LayOutSheet(1, kSize, false);
  ASSERT_EQ(layout.image, (ImageSize{1, 1996, 1}));
  std::vector<uint8_t> pixels(kSize.elements());
  for (int64_t x = 0; x < kSize.width; ++x) {
    pixels[x] = x % 2 == 0 ? 0 : 40;                 // mean 20
    pixels[kSize.width + x] = x < 1996 ? 100 : 180;  // mean 100, then 180
  }
  const std::vector<uint8_t> sheet = ComposeSheet(layout, kSize, pixels, {});
  const auto line = sheet.begin() + 2 * 2000 + 2;
  EXPECT_THAT(std::vector<uint8_t>(line, line + 998), Each(60));
  EXPECT_THAT(std::vector<uint8_t>(line + 998, line + 1996), Each(100));
}

// The strip below the only image of a sheet, two pixels a dot.
std::vector<std::string> Strip(int64_t number) {
  const SheetLayout layout = LayOutSheet(1, {64, 64, 1}, true);
  const std::vector<uint8_t> sheet =
      ComposeSheet(layout, {64, 64, 1}, std::vector<uint8_t>(64 * 64, 9), std::vector{number});
  std::vector<std::string> lines;
  for (int64_t y = layout.y(0) + 128 + 1; y < layout.y(0) + 128 + 11; y += 2) {
    std::string line;
    for (int64_t x = layout.x(0); x < layout.x(0) + 128; x += 2) {
      const uint8_t* const dot = sheet.data() + y * layout.sheet.width + x;
      const uint8_t* const below = dot + layout.sheet.width;
      EXPECT_TRUE(dot[0] == dot[1] && dot[0] == below[0] && dot[0] == below[1]);
      line += dot[0] == 255 ? '#' : dot[0] == kBackground ? '.' : '?';
    }
    lines.push_back(line.substr(0, line.find_last_of('#') + 1));
  }
  return lines;
}

TEST(ContactSheetTest, NumbersStandBelowTheImages) {
  EXPECT_THAT(Strip(-1234), ElementsAre(".....#..###.###.#.#",  //
                                        "....##....#...#.#.#",  //
                                        "###..#..###.###.###",  //
                                        ".....#..#.....#...#",  //
                                        "....###.###.###...#"));
  EXPECT_THAT(Strip(567890), ElementsAre("###.###.###.###.###.###",  //
                                         "#...#.....#.#.#.#.#.#.#",  //
                                         "###.###...#.###.###.#.#",  //
                                         "..#.#.#..#..#.#...#.#.#",  //
                                         "###.###..#..###.###.###"));
  // Wider than the image.
  EXPECT_THAT(Strip(12345678901234567), Each(""));
}

}  // namespace
}  // namespace tpurun
