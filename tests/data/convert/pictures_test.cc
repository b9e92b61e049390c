// Pictures drawn from a seed: how what is drawn is distributed.
#include "data/convert/pictures.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

const PictureSubject& Digits() { return PictureSubjects()[0]; }
const PictureSubject& Shapes() { return PictureSubjects()[1]; }

std::vector<Picture> Draw(const PictureSubject& subject, int count, int64_t size) {
  std::vector<Picture> pictures;
  for (int i = 0; i < count; ++i) pictures.push_back(DrawPicture(subject, 5, i, size));
  return pictures;
}

TEST(PicturesTest, LabelsAreUniform) {
  constexpr int kCount = 4000;
  for (const PictureSubject& subject : PictureSubjects()) {
    int of_label[10] = {};
    for (const Picture& picture : Draw(subject, kCount, 16)) {
      ASSERT_TRUE(picture.label >= 0 && picture.label < 10) << picture.label;
      ++of_label[picture.label];
    }
    // Of 400 each, 19 is a standard deviation.
    for (const int count : of_label) EXPECT_NEAR(count, kCount / 10, 80) << subject.name;
  }
}

TEST(PicturesTest, ColoursAreApart) {
  double nearest = 2, farthest = 0;
  for (const Picture& picture : Draw(Shapes(), 2000, 16)) {
    ASSERT_EQ(picture.channels, 3);
    double squared = 0;
    for (int channel = 0; channel < 3; ++channel) {
      const double from = picture.background[channel], to = picture.foreground[channel];
      EXPECT_TRUE(from >= 0 && from <= 1 && to >= 0 && to <= 1) << from << " " << to;
      squared += (from - to) * (from - to);
    }
    nearest = std::min(nearest, std::sqrt(squared));
    farthest = std::max(farthest, std::sqrt(squared));
  }
  EXPECT_GE(nearest, 0.4 - 1e-6);
  EXPECT_LE(nearest, 0.42);
  EXPECT_GE(farthest, 1.2);
}

TEST(PicturesTest, DigitsAreLightOnBlack) {
  for (const Picture& picture : Draw(Digits(), 500, 28)) {
    EXPECT_EQ(picture.channels, 1);
    EXPECT_EQ(picture.background[0], 0);
    EXPECT_TRUE(picture.foreground[0] >= 0.6f && picture.foreground[0] <= 1);
    // Thin ones cover about 3 % of the pixels, bold ones a third.
    const double covered =
        std::accumulate(picture.coverage.begin(), picture.coverage.end(), 0.0) / (28 * 28);
    EXPECT_TRUE(covered > 0.01 && covered < 0.4) << covered;
  }
}

// A disc of radius r covers pi r^2: from its area, the radius, and from its middle, that all of it
// is in the picture, and that it may be anywhere there.
TEST(PicturesTest, DiscsAreWholeAndAnywhere) {
  constexpr int kSize = 64;
  double smallest = 1, largest = 0, left = 1, right = 0, top = 1, bottom = 0;
  for (const Picture& picture : Draw(Shapes(), 3000, kSize)) {
    if (picture.label != 0) continue;
    double area = 0, x = 0, y = 0;
    for (int pixel = 0; pixel < kSize * kSize; ++pixel) {
      area += picture.coverage[pixel];
      x += picture.coverage[pixel] * (pixel % kSize + 0.5) / kSize;
      y += picture.coverage[pixel] * (pixel / kSize + 0.5) / kSize;
    }
    const double radius = std::sqrt(area / M_PI) / kSize;
    x /= area, y /= area;
    EXPECT_TRUE(x > radius - 0.002 && x < 1.002 - radius) << x << " " << radius;
    EXPECT_TRUE(y > radius - 0.002 && y < 1.002 - radius) << y << " " << radius;
    smallest = std::min(smallest, radius), largest = std::max(largest, radius);
    left = std::min(left, x), right = std::max(right, x);
    top = std::min(top, y), bottom = std::max(bottom, y);
  }
  EXPECT_NEAR(smallest, 0.2, 0.01);
  EXPECT_NEAR(largest, 0.42, 0.01);
  EXPECT_LT(std::max(left, top), 0.3);
  EXPECT_GT(std::min(right, bottom), 0.7);
}

// What is added where no sum is clipped: by 2.5 standard deviations, that is, or hardly ever.
TEST(PicturesTest, TheNoiseIsNormalAndOfEveryValueItsOwn) {
  std::vector<double> noise;
  double products = 0;
  std::string bytes;
  for (int i = 0; i < 40; ++i) {
    Picture picture = DrawPicture(Shapes(), 5, i, 64);
    picture.background = picture.foreground = {0.5f, 0.45f, 0.55f};
    PaintPicture(picture, 5, i, &bytes);
    ASSERT_EQ(bytes.size(), 64 * 64 * 3);
    for (size_t n = 0; n < bytes.size(); ++n) {
      noise.push_back(static_cast<uint8_t>(bytes[n]) / 255.0 - picture.background[n % 3]);
      if (n > 0) products += noise[noise.size() - 2] * noise.back();
    }
  }
  const double count = static_cast<double>(noise.size());
  const double mean = std::accumulate(noise.begin(), noise.end(), 0.0) / count;
  double squares = 0;
  int within[3] = {};  // of so many standard deviations and one
  for (const double value : noise) {
    squares += value * value;
    for (int deviations = 0; deviations < 3; ++deviations) {
      within[deviations] += std::abs(value) < 0.1 * (deviations + 1);
    }
  }
  // A byte's rounding adds 1 / (255 sqrt(12)) to the deviation, in squares.
  EXPECT_NEAR(mean, 0, 0.0005);
  EXPECT_NEAR(std::sqrt(squares / count), 0.1, 0.0005);
  EXPECT_NEAR(products / squares, 0, 0.006);
  for (int deviations = 1; deviations <= 3; ++deviations) {
    EXPECT_NEAR(within[deviations - 1] / count, std::erf(deviations / M_SQRT2), 0.004);
  }
}

TEST(PicturesTest, WhatIsBrighterThanWhiteIsWhite) {
  Picture picture = {.coverage = std::vector<float>(10000, 1.0f), .foreground = {1}};
  std::string bytes;
  PaintPicture(picture, 5, 0, &bytes);
  // Half of the noise is added to white, and at 1/510 below the nearest byte is white still.
  EXPECT_NEAR(static_cast<double>(std::count(bytes.begin(), bytes.end(), '\xff')), 5078, 200);
  picture.foreground = {0};
  PaintPicture(picture, 5, 0, &bytes);
  EXPECT_NEAR(static_cast<double>(std::count(bytes.begin(), bytes.end(), '\0')), 5078, 200);
}

}  // namespace
}  // namespace tpurun
