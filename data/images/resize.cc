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

struct LinearTaps {
  int64_t low, high;  // places
  float weight;       // of the second
};

LinearTaps LinearTapsOf(int64_t i, int64_t size, float scale, bool half_pixel_centers) {
  const float at = PlaceOf(i, scale, half_pixel_centers);
  const float begin = std::floor(at);
  return {.low = std::clamp<int64_t>(static_cast<int64_t>(begin), 0, size - 1),
          .high = std::min(static_cast<int64_t>(std::ceil(at)), size - 1),
          .weight = at - begin};
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

bool Resizer::takes_rows() const {
  return method_ == proto::Resize::BILINEAR || method_ == proto::Resize::BICUBIC;
}

void Resizer::Begin(const ImageSize& size, float* to) {
  size_ = size;
  to_ = to;
  made_ = row_ = 0;
  const bool bilinear = method_ == proto::Resize::BILINEAR;
  const int64_t row_values = width_ * size.channels;
  columns_.Resize(row_values, bilinear ? 2 : 4);
  const float x_scale = ScaleOf(size.width, width_);
  for (int64_t x = 0; x < width_; ++x) {
    if (bilinear) {
      const LinearTaps taps = LinearTapsOf(x, size.width, x_scale, half_pixel_centers_);
      columns_.Set(0, ColumnOf(x), size.channels, taps.low, 0);
      columns_.Set(1, ColumnOf(x), size.channels, taps.high, taps.weight);
      continue;
    }
    const CubicTaps taps = CubicTapsOf(x, size.width, x_scale, half_pixel_centers_);
    for (int k = 0; k < 4; ++k)
      columns_.Set(k, ColumnOf(x), size.channels, taps.place[k], taps.weight[k]);
  }
  source_.resize(size.width * size.channels + 1);
  for (auto& line : lines_) line.resize(bilinear ? row_values + 1 : 0);
  std::fill_n(line_row_, 2, -1);
}

template <typename T>
void Resizer::AddRow(const T* row) {
  if (method_ == proto::Resize::BILINEAR) {
    AddBilinear(row);
  } else {
    AddBicubic(row);
  }
  ++row_;
}

template void Resizer::AddRow<uint8_t>(const uint8_t* row);
template void Resizer::AddRow<float>(const float* row);

template <typename T>
void Resizer::AddBilinear(const T* row) {
  const auto lerp = size_.channels == 3 ? LerpPixels : LerpPlaces;
  const int64_t row_values = width_ * size_.channels;
  const float y_scale = ScaleOf(size_.height, height_);
  bool is_line = false;
  for (; made_ < height_; ++made_, to_ += row_values) {
    const LinearTaps taps = LinearTapsOf(made_, size_.height, y_scale, half_pixel_centers_);
    if (row_ < taps.low) return;
    // Rows before taps.low are not needed any more.
    const int low = line_row_[1] == taps.low ? 1 : 0;
    const int high = taps.high == taps.low ? low : 1 - low;
    if (!is_line && (row_ == taps.low || row_ == taps.high)) {
      const int line = row_ == taps.low ? low : high;
      ToFloats(row, size_.width * size_.channels, source_.data());
      lerp(source_.data(), columns_.place[0].data(), columns_.place[1].data(),
           columns_.weight[1].data(), row_values, lines_[line].data());
      line_row_[line] = row_;
      is_line = true;
    }
    if (row_ < taps.high) return;
    Lerp(lines_[low].data(), lines_[high].data(), taps.weight, row_values, to_);
  }
}

template <typename T>
void Resizer::AddBicubic(const T* row) {
  const int64_t values = size_.width * size_.channels, row_values = width_ * size_.channels;
  const float y_scale = ScaleOf(size_.height, height_);
  std::vector<std::byte>& last = last_[row_ % 4];
  last.resize(values * sizeof(T));
  std::memcpy(last.data(), row, last.size());
  for (; made_ < height_; ++made_, to_ += row_values) {
    const CubicTaps taps = CubicTapsOf(made_, size_.height, y_scale, half_pixel_centers_);
    if (row_ < taps.place[3]) return;
    const T* rows[4];
    for (int k = 0; k < 4; ++k)
      rows[k] = reinterpret_cast<const T*>(last_[taps.place[k] % 4].data());
    SumFourRows(rows, taps.weight, values, source_.data());
    SumFourPlaces(source_.data(), columns_.place, columns_.weight, row_values, to_);
  }
}

template <typename T>
void Resizer::Resize(const T* from, const ImageSize& size, float* to) {
  if (!takes_rows()) return Area(from, size, to);
  Begin(size, to);
  for (int64_t y = 0; y < size.height; ++y) AddRow(from + y * size.width * size.channels);
}

template void Resizer::Resize<uint8_t>(const uint8_t* from, const ImageSize& size, float* to);
template void Resizer::Resize<float>(const float* from, const ImageSize& size, float* to);

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
        to[(y * width_ + ColumnOf(x)) * channels + c] = sum * scale;
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
    for (int64_t x = 0; x < width_; ++x) {
      std::memcpy(out + ColumnOf(x) * pixel, row + source_of(x, x_scale, size.width) * pixel,
                  pixel);
    }
    out += width_ * pixel;
  }
}

}  // namespace tpurun
