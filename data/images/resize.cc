#include "data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/base/clones.h"

namespace tpurun {
namespace {

float ScaleOf(int64_t from, int64_t to) {
  return static_cast<float>(from) / static_cast<float>(to);
}

// The place in the image of the center or the begin of output pixel i.
float PlaceOf(int64_t i, float scale, bool half_pixel_centers) {
  const auto at = static_cast<float>(i);
  return half_pixel_centers ? (at + 0.5f) * scale - 0.5f : at * scale;
}

template <typename T>
TPURUN_CLONES void ToFloats(const T* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void LerpPlaces(const float* from, const int32_t* low, const int32_t* high, const float* weight,
                int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    const float a = from[low[i]];
    to[i] = a + (from[high[i]] - a) * weight[i];
  }
}

// Four floats, of which three are those of an RGB pixel.
using Pixel4 [[gnu::vector_size(16)]] = float;

Pixel4 LoadPixel(const float* from) {
  Pixel4 pixel;
  __builtin_memcpy(&pixel, from, sizeof pixel);
  return pixel;
}

// LerpPlaces of RGB pixels. Reads and writes one float behind the last pixel.
void LerpPixels(const float* from, const int32_t* low, const int32_t* high, const float* weight,
                int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += 3) {
    const Pixel4 a = LoadPixel(from + low[i]);
    const Pixel4 made = a + (LoadPixel(from + high[i]) - a) * weight[i];
    __builtin_memcpy(to + i, &made, sizeof made);
  }
}

TPURUN_CLONES void Lerp(const float* low, const float* high, float weight, int64_t count,
                        float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = low[i] + (high[i] - low[i]) * weight;
}

// The bicubic kernel of Keys, "Cubic Convolution Interpolation", 1981, at 1025 places in [0, 1]:
// first[i] at i / 1024, second[i] at 1 + i / 1024.
struct CubicTable {
  static constexpr int kPlaces = 1024;
  float first[kPlaces + 1], second[kPlaces + 1];

  explicit CubicTable(double a) {
    for (int i = 0; i <= kPlaces; ++i) {
      float x = static_cast<float>(i * 1.0 / kPlaces);
      first[i] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
      x += 1.0f;
      second[i] = static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
    }
  }
};

struct CubicTaps {
  int64_t place[4];
  float weight[4];
};

// With half_pixel_centers, pixels beyond the image have no weight and the others take it; else the
// pixel at the border stands for them.
CubicTaps CubicTapsOf(int64_t i, int64_t size, float scale, bool half_pixel_centers) {
  static const CubicTable keys(-0.5), legacy(-0.75);
  const CubicTable& table = half_pixel_centers ? keys : legacy;
  const float at = PlaceOf(i, scale, half_pixel_centers);
  const auto begin = static_cast<int64_t>(std::floor(at));
  const auto offset = std::lrintf((at - static_cast<float>(begin)) * CubicTable::kPlaces);
  CubicTaps taps = {
      {begin - 1, begin, begin + 1, begin + 2},
      {table.second[offset], table.first[offset], table.first[CubicTable::kPlaces - offset],
       table.second[CubicTable::kPlaces - offset]}};
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    const int64_t inside = std::clamp<int64_t>(taps.place[k], 0, size - 1);
    if (half_pixel_centers && inside != taps.place[k]) taps.weight[k] = 0;
    taps.place[k] = inside;
    sum += taps.weight[k];
  }
  if (half_pixel_centers && std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
    const float one_over_sum = 1.0f / sum;
    for (float& weight : taps.weight) weight *= one_over_sum;
  }
  return taps;
}

template <typename T>
TPURUN_CLONES void SumFourRows(const T* const rows[4], const float* weights, int64_t count,
                               float* to) {
  const T* const r0 = rows[0];
  const T* const r1 = rows[1];
  const T* const r2 = rows[2];
  const T* const r3 = rows[3];
  const float w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
  for (int64_t i = 0; i < count; ++i) {
    to[i] = w0 * static_cast<float>(r0[i]) + w1 * static_cast<float>(r1[i]) +
            w2 * static_cast<float>(r2[i]) + w3 * static_cast<float>(r3[i]);
  }
}

void SumFourPlaces(const float* from, const std::vector<int32_t>* places,
                   const std::vector<float>* weights, int64_t count, float* to) {
  const int32_t* const p0 = places[0].data();
  const int32_t* const p1 = places[1].data();
  const int32_t* const p2 = places[2].data();
  const int32_t* const p3 = places[3].data();
  const float* const w0 = weights[0].data();
  const float* const w1 = weights[1].data();
  const float* const w2 = weights[2].data();
  const float* const w3 = weights[3].data();
  for (int64_t i = 0; i < count; ++i) {
    to[i] = w0[i] * from[p0[i]] + w1[i] * from[p1[i]] + w2[i] * from[p2[i]] + w3[i] * from[p3[i]];
  }
}

// The pixels [begin, end) that output pixel i covers, and the share of the first and of the last
// that it covers.
struct CoveredPixels {
  int64_t begin, end;
  float first, last;
};

CoveredPixels CoveredBy(int64_t i, float scale) {
  const float from = static_cast<float>(i) * scale;
  const float to = static_cast<float>(i + 1) * scale;
  const auto share = [&](int64_t pixel) {
    const auto low = static_cast<float>(pixel);
    const auto high = static_cast<float>(pixel + 1);
    if (low < from) return high > to ? scale : high - from;
    return high > to ? to - low : 1.0f;
  };
  CoveredPixels covered;
  covered.begin = static_cast<int64_t>(std::floor(from));
  covered.end = static_cast<int64_t>(std::ceil(to));
  covered.first = share(covered.begin);
  covered.last = share(covered.end - 1);
  return covered;
}

}  // namespace

void Resizer::Taps::Resize(size_t count, int places) {
  for (int k = 0; k < places; ++k) {
    place[k].resize(count);
    weight[k].resize(count);
  }
}

void Resizer::Taps::Set(int k, int64_t x, int64_t channels, int64_t source, float share) {
  for (int64_t c = 0; c < channels; ++c) {
    place[k][x * channels + c] = static_cast<int32_t>(source * channels + c);
    weight[k][x * channels + c] = share;
  }
}

template <typename T>
void Resizer::Resize(const T* from, const ImageSize& size, float* to) {
  switch (method_) {
    case proto::Resize::BILINEAR:
      return Bilinear(from, size, to);
    case proto::Resize::BICUBIC:
      return Bicubic(from, size, to);
    case proto::Resize::AREA:
      return Area(from, size, to);
    case proto::Resize::NEAREST_NEIGHBOR:
      break;
  }
}

template void Resizer::Resize<uint8_t>(const uint8_t* from, const ImageSize& size, float* to);
template void Resizer::Resize<float>(const float* from, const ImageSize& size, float* to);

template <typename T>
void Resizer::Bilinear(const T* from, const ImageSize& size, float* to) {
  const int64_t channels = size.channels;
  const int64_t row_values = width_ * channels;
  columns_.Resize(row_values, 2);
  const float x_scale = ScaleOf(size.width, width_);
  for (int64_t x = 0; x < width_; ++x) {
    const float at = PlaceOf(x, x_scale, half_pixel_centers_);
    const float begin = std::floor(at);
    const int64_t low = std::clamp<int64_t>(static_cast<int64_t>(begin), 0, size.width - 1);
    const int64_t high = std::min(static_cast<int64_t>(std::ceil(at)), size.width - 1);
    columns_.Set(0, x, channels, low, 0);
    columns_.Set(1, x, channels, high, at - begin);
  }
  source_.resize(size.width * channels + 1);
  const auto lerp = channels == 3 ? LerpPixels : LerpPlaces;
  for (auto& line : lines_) line.resize(row_values + 1);
  int64_t line_row[2] = {-1, -1};  // the row of the image that each line is of
  // The row of the image at the result's width: in lines_[i], unless another line has it.
  const auto line_of = [&](int64_t row, int spared) -> int {
    for (int i = 0; i < 2; ++i) {
      if (line_row[i] == row) return i;
    }
    const int i = 1 - spared;
    ToFloats(from + row * size.width * channels, size.width * channels, source_.data());
    lerp(source_.data(), columns_.place[0].data(), columns_.place[1].data(),
         columns_.weight[1].data(), row_values, lines_[i].data());
    line_row[i] = row;
    return i;
  };
  const float y_scale = ScaleOf(size.height, height_);
  for (int64_t y = 0; y < height_; ++y) {
    const float at = PlaceOf(y, y_scale, half_pixel_centers_);
    const float begin = std::floor(at);
    const int64_t low_row = std::clamp<int64_t>(static_cast<int64_t>(begin), 0, size.height - 1);
    const int64_t high_row = std::min(static_cast<int64_t>(std::ceil(at)), size.height - 1);
    const int low = line_of(low_row, line_row[0] == high_row ? 0 : 1);
    const int high = line_of(high_row, low);
    Lerp(lines_[low].data(), lines_[high].data(), at - begin, row_values, to + y * row_values);
  }
}

template <typename T>
void Resizer::Bicubic(const T* from, const ImageSize& size, float* to) {
  const int64_t channels = size.channels;
  const int64_t row_values = width_ * channels;
  columns_.Resize(row_values, 4);
  const float x_scale = ScaleOf(size.width, width_);
  for (int64_t x = 0; x < width_; ++x) {
    const CubicTaps taps = CubicTapsOf(x, size.width, x_scale, half_pixel_centers_);
    for (int k = 0; k < 4; ++k) columns_.Set(k, x, channels, taps.place[k], taps.weight[k]);
  }
  source_.resize(size.width * channels);
  const float y_scale = ScaleOf(size.height, height_);
  for (int64_t y = 0; y < height_; ++y) {
    const CubicTaps taps = CubicTapsOf(y, size.height, y_scale, half_pixel_centers_);
    const T* rows[4];
    for (int k = 0; k < 4; ++k) rows[k] = from + taps.place[k] * size.width * channels;
    SumFourRows(rows, taps.weight, size.width * channels, source_.data());
    SumFourPlaces(source_.data(), columns_.place, columns_.weight, row_values, to + y * row_values);
  }
}

template <typename T>
void Resizer::Area(const T* from, const ImageSize& size, float* to) {
  const int64_t channels = size.channels;
  const float x_scale = ScaleOf(size.width, width_);
  const float y_scale = ScaleOf(size.height, height_);
  const float scale = 1.0f / (y_scale * x_scale);
  for (int64_t y = 0; y < height_; ++y) {
    const CoveredPixels rows = CoveredBy(y, y_scale);
    for (int64_t x = 0; x < width_; ++x) {
      const CoveredPixels columns = CoveredBy(x, x_scale);
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (int64_t row = rows.begin; row < rows.end; ++row) {
          const T* const line = from + std::min(row, size.height - 1) * size.width * channels + c;
          const auto value = [&](int64_t column) {
            return static_cast<float>(line[std::min(column, size.width - 1) * channels]);
          };
          float row_sum = value(columns.begin) * columns.first;
          if (columns.begin + 1 != columns.end) {
            for (int64_t column = columns.begin + 1; column < columns.end - 1; ++column) {
              row_sum += value(column);
            }
            row_sum += value(columns.end - 1) * columns.last;
          }
          const float share = row == rows.begin ? rows.first : row == rows.end - 1 ? rows.last : 1;
          sum += row_sum * share;
        }
        to[(y * width_ + x) * channels + c] = sum * scale;
      }
    }
  }
}

void Resizer::ResizeNearest(const void* from, const ImageSize& size, int64_t value_bytes,
                            void* to) const {
  const auto source_of = [this](int64_t i, float scale, int64_t limit) {
    const float at = (static_cast<float>(i) + (half_pixel_centers_ ? 0.5f : 0.0f)) * scale;
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, limit - 1);
  };
  const float x_scale = ScaleOf(size.width, width_);
  const float y_scale = ScaleOf(size.height, height_);
  const int64_t pixel = size.channels * value_bytes;
  auto* out = static_cast<std::byte*>(to);
  for (int64_t y = 0; y < height_; ++y) {
    const std::byte* const row = static_cast<const std::byte*>(from) +
                                 source_of(y, y_scale, size.height) * size.width * pixel;
    for (int64_t x = 0; x < width_; ++x, out += pixel) {
      std::memcpy(out, row + source_of(x, x_scale, size.width) * pixel, pixel);
    }
  }
}

}  // namespace tpurun
