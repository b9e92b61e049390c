#include "data/convert/pictures.h"

#include <algorithm>
#include <cmath>

#include "data/convert/draws.h"
#include "data/convert/figures.h"
#include "runtime/base/random.h"

namespace tpurun {

namespace {

constexpr int64_t kClasses = 10;
constexpr float kNoise = 0.1f;
constexpr float kColoursApart = 0.4f;

// ------------------------------------------------------------------------------------- subjects

// A figure of that radius, whole, as a part of the picture's size.
Pose Place(Draws& draws, int64_t size, float smallest, float largest) {
  const float pixels = static_cast<float>(size);
  const float radius = pixels * draws.Uniform(smallest, largest);
  return {
      .centre = {draws.Uniform(radius, pixels - radius), draws.Uniform(radius, pixels - radius)},
      .radius = radius};
}

// Light grey on black, as MNIST's are.
Picture DrawDigit(Draws& draws, int64_t size) {
  Picture picture = {.label = draws.Below(kClasses)};
  Pose pose = Place(draws, size, 0.28f, 0.45f);
  pose.angle = draws.Uniform(-0.3f, 0.3f);
  pose.slant = draws.Uniform(-0.3f, 0.3f);
  pose.aspect = draws.Uniform(0.7f, 1.15f);
  const float pen = draws.Uniform(0.07f, 0.16f);
  std::vector<LineSegment> segments;
  for (Stroke stroke : DigitStrokes(picture.label)) {
    for (Point& point : stroke) {
      point.x += draws.Uniform(-0.08f, 0.08f);
      point.y += draws.Uniform(-0.08f, 0.08f);
    }
    AddCurve(std::move(stroke), segments);
  }
  picture.coverage =
      Coverage([&](Point p) { return StrokeDistance(segments, pen, p); }, pose, size);
  picture.foreground[0] = draws.Uniform(0.6f, 1);
  return picture;
}

std::array<float, 3> DrawColour(Draws& draws) {
  return {draws.Uniform(0, 1), draws.Uniform(0, 1), draws.Uniform(0, 1)};
}

bool AreApart(const std::array<float, 3>& a, const std::array<float, 3>& b) {
  float squared = 0;
  for (size_t i = 0; i < a.size(); ++i) squared += (a[i] - b[i]) * (a[i] - b[i]);
  return squared >= kColoursApart * kColoursApart;
}

Picture DrawShape(Draws& draws, int64_t size) {
  Picture picture = {.label = draws.Below(kClasses), .channels = 3};
  Pose pose = Place(draws, size, 0.2f, 0.42f);
  pose.angle = draws.Uniform(0, static_cast<float>(2 * M_PI));
  picture.coverage = Coverage(Figures()[picture.label].distance, pose, size);
  picture.background = DrawColour(draws);
  do {
    picture.foreground = DrawColour(draws);
  } while (!AreApart(picture.foreground, picture.background));
  return picture;
}

constexpr PictureSubject kPictureSubjects[] = {
    {.name = "digits", .size = 28, .draw = DrawDigit},
    {.name = "shapes", .size = 32, .draw = DrawShape},
};

// ---------------------------------------------------------------------------------------- noise

// The normal distribution's quantiles at (k + 0.5) / 4096: one of them, drawn, is normal as far as
// bytes can tell.
constexpr int64_t kQuantiles = 4096;

std::array<float, kQuantiles> NormalQuantiles() {
  std::array<float, kQuantiles> quantiles;
  for (int64_t k = 0; k < kQuantiles; ++k) {
    const double below = (static_cast<double>(k) + 0.5) / kQuantiles;
    double low = -5, high = 5;
    while (high - low > 1e-6) {
      const double z = (low + high) / 2;
      (std::erfc(-z / M_SQRT2) / 2 < below ? low : high) = z;
    }
    quantiles[k] = static_cast<float>(low);
  }
  return quantiles;
}

// [size, size, channels] of 0 to 255.
std::vector<float> WithoutNoise(const Picture& picture) {
  std::vector<float> values;
  values.reserve(picture.coverage.size() * picture.channels);
  for (const float part : picture.coverage) {
    for (int channel = 0; channel < picture.channels; ++channel) {
      const float from = picture.background[channel], to = picture.foreground[channel];
      values.push_back(255 * (from + part * (to - from)));
    }
  }
  return values;
}

}  // namespace

std::span<const PictureSubject> PictureSubjects() { return kPictureSubjects; }

Picture DrawPicture(const PictureSubject& subject, uint64_t seed, uint64_t i, int64_t size) {
  Draws draws(seed, StreamOf(subject.name), i);
  return subject.draw(draws, size);
}

std::string MaskOf(const Picture& picture) {
  std::string mask;
  for (const float part : picture.coverage) {
    mask.push_back(static_cast<char>(part >= 0.5f ? picture.label + 1 : 0));
  }
  return mask;
}

void PaintPicture(const Picture& picture, uint64_t seed, uint64_t i, std::string* bytes) {
  static const std::array<float, kQuantiles> quantiles = NormalQuantiles();
  const std::vector<float> values = WithoutNoise(picture);
  bytes->resize(values.size());
  // A block is 8 times 16 bits, of which a value takes the first 12.
  for (size_t begin = 0; begin < values.size(); begin += 8) {
    const auto lanes = PhiloxBlock(seed, StreamOf("noise"), static_cast<uint32_t>(i),
                                   static_cast<uint32_t>(i >> 32), begin / 8);
    for (size_t n = 0; n < std::min<size_t>(8, values.size() - begin); ++n) {
      const uint32_t bits = lanes[n / 2] << (16 * (n % 2)) >> 20;
      const float value = values[begin + n] + 255 * kNoise * quantiles[bits];
      (*bytes)[begin + n] =
          static_cast<char>(static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f));
    }
  }
}

}  // namespace tpurun
