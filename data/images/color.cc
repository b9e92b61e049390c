#include "data/images/color.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/clones.h"

namespace tpurun {
namespace {

TPURUN_CLONES void AddToAll(float amount, int64_t count, float* values) {
  for (int64_t i = 0; i < count; ++i) values[i] += amount;
}

TPURUN_CLONES void AddValues(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// The sums are TensorFlow's to the last bit: the last half of the pixels is added to the first, and
// so on until one is left.
void ChangeContrast(float factor, const ImageSize& size, float* values) {
  std::vector<float> sums(values, values + size.elements());
  for (int64_t left = size.pixels(); left > 1;) {
    const int64_t half = left / 2;
    left -= half;
    AddValues(&sums[left * size.channels], half * size.channels, sums.data());
  }
  for (int64_t c = 0; c < size.channels; ++c) {
    const float mean = sums[c] * (1.0f / static_cast<float>(size.pixels()));
    for (int64_t i = c; i < size.elements(); i += size.channels) {
      values[i] = (values[i] - mean) * factor + mean;
    }
  }
}

// The channels with the largest, the middle and the least value, by sixths of a turn of the hue.
constexpr int kLargest[] = {0, 1, 1, 2, 2, 0};
constexpr int kMiddle[] = {1, 0, 2, 1, 0, 2};
constexpr int kLeast[] = {2, 2, 0, 0, 1, 1};

// ------------------------------------------------------------------------------- saturation

struct Hsv {
  float hue, saturation, value;
};

Hsv ToHsv(const float* rgb) {
  const float r = rgb[0], g = rgb[1], b = rgb[2];
  const float value = std::max(r, std::max(g, b));
  const float range = value - std::min(r, std::min(g, b));
  Hsv hsv = {0, value > 0 ? range / value : 0, value};
  if (range <= 0) return hsv;
  const float norm = 1.0f / (6.0f * range);
  if (r == value) {
    hsv.hue = norm * (g - b);
  } else if (g == value) {
    hsv.hue = static_cast<float>(norm * (b - r) + 2.0 / 6.0);
  } else {
    hsv.hue = static_cast<float>(norm * (r - g) + 4.0 / 6.0);
  }
  if (hsv.hue < 0) hsv.hue += 1;
  return hsv;
}

void FromHsv(const Hsv& hsv, float* rgb) {
  if (!std::isfinite(hsv.hue)) return;  // of a pixel that is not finite
  const float chroma = hsv.saturation * hsv.value;
  const float least = hsv.value - chroma;
  const float sixth = hsv.hue * 6;
  float within = sixth;
  while (within <= 0) within += 2.0f;
  while (within >= 2.0f) within -= 2.0f;
  const float middle = chroma * (1 - std::abs(within - 1));
  const int at = static_cast<int>(sixth);
  rgb[0] = rgb[1] = rgb[2] = least;
  if (at < 0 || at > 5) return;
  rgb[kLargest[at]] = chroma + least;
  rgb[kMiddle[at]] = middle + least;
}

// -------------------------------------------------------------------------------------- hue

// The hue in sixths of a turn, and the least and the largest channel.
struct HueRange {
  float sixths, least, largest;
};

HueRange ToHueRange(const float* rgb) {
  const float r = rgb[0], g = rgb[1], b = rgb[2];
  const int at = r < g ? (b < r ? 1 : b > g ? 3 : 2) : (b < g ? 0 : b > r ? 4 : 5);
  HueRange range = {0, rgb[kLeast[at]], rgb[kLargest[at]]};
  if (range.largest == range.least) return range;
  const float ratio = (rgb[kMiddle[at]] - range.least) / (range.largest - range.least);
  range.sixths = static_cast<float>(at) + (at % 2 == 0 ? ratio : 1 - ratio);
  return range;
}

void FromHueRange(const HueRange& range, float* rgb) {
  const int at = static_cast<int>(range.sixths);
  float ratio = range.sixths - static_cast<float>(at);
  if (at % 2 != 0) ratio = 1 - ratio;
  rgb[kLargest[at]] = range.largest;
  rgb[kMiddle[at]] = range.least + ratio * (range.largest - range.least);
  rgb[kLeast[at]] = range.least;
}

void TurnHue(float turns, float* rgb) {
  HueRange range = ToHueRange(rgb);
  range.sixths += turns * 6;
  if (!std::isfinite(range.sixths)) return;  // of a pixel that is not finite
  while (range.sixths < 0) range.sixths += 6;
  while (range.sixths >= 6) range.sixths -= 6;
  FromHueRange(range, rgb);
}

}  // namespace

void ChangeColors(ColorChange change, float amount, const ImageSize& size, float* values) {
  switch (change) {
    case ColorChange::kBrightness:
      return AddToAll(amount, size.elements(), values);
    case ColorChange::kContrast:
      return ChangeContrast(amount, size, values);
    case ColorChange::kSaturation:
      for (int64_t i = 0; i < size.elements(); i += 3) {
        Hsv hsv = ToHsv(values + i);
        hsv.saturation = std::clamp(hsv.saturation * amount, 0.0f, 1.0f);
        FromHsv(hsv, values + i);
      }
      return;
    case ColorChange::kHue:
      for (int64_t i = 0; i < size.elements(); i += 3) TurnHue(amount, values + i);
      return;
  }
}

}  // namespace tpurun
