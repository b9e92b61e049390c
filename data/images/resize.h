// Resizes images as tf.image.resize of TensorFlow 2.15, without antialiasing, does:
// tensorflow/core/kernels/image/resize_{bilinear,bicubic,area,nearest_neighbor}_op.cc.
#ifndef TPURUN_DATA_IMAGES_RESIZE_H_
#define TPURUN_DATA_IMAGES_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/image.h"
#include "proto/input.pb.h"

namespace tpurun {

// Resizes images to one size. Keeps scratch memory from one to the next.
class Resizer {
 public:
  Resizer(proto::Resize::Method method, bool half_pixel_centers, int64_t height, int64_t width)
      : method_(method), half_pixel_centers_(half_pixel_centers), height_(height), width_(width) {}

  // Whether the results are mirrored from left to right.
  void set_mirrors(bool mirrors) { mirrors_ = mirrors; }

  // Writes height * width * size.channels values. T is uint8_t or float. Not with NEAREST_NEIGHBOR.
  template <typename T>
  void Resize(const T* from, const ImageSize& size, float* to);
  // BILINEAR and BICUBIC do the same row by row: Begin, and AddRow for every row of the image from
  // the first on. A row is not needed when AddRow has returned.
  bool takes_rows() const;
  void Begin(const ImageSize& size, float* to);
  template <typename T>
  void AddRow(const T* row);
  // With NEAREST_NEIGHBOR: values of `value_bytes` bytes are copied.
  void ResizeNearest(const void* from, const ImageSize& size, int64_t value_bytes, void* to) const;

 private:
  template <typename T>
  void AddBilinear(const T* row);
  template <typename T>
  void AddBicubic(const T* row);
  template <typename T>
  void Area(const T* from, const ImageSize& size, float* to);
  // The place in the result of column x of the resized image.
  int64_t ColumnOf(int64_t x) const { return mirrors_ ? width_ - 1 - x : x; }

  // How an output value is made of those of a row: the places and weights of its sources. Of
  // bilinear: two places, and the weight of the second.
  struct Taps {
    std::vector<int32_t> place[4];
    std::vector<float> weight[4];

    void Resize(size_t count, int places);
    // Tap k of all channels of pixel x.
    void Set(int k, int64_t x, int64_t channels, int64_t source, float share);
  };

  const proto::Resize::Method method_;
  const bool half_pixel_centers_;
  const int64_t height_, width_;
  bool mirrors_ = false;
  Taps columns_;
  std::vector<float> source_;  // one row of the image, as floats

  // Between Begin and the last AddRow.
  ImageSize size_;       // of the image
  float* to_ = nullptr;  // where the next row of the result belongs
  int64_t made_ = 0;     // rows of the result
  int64_t row_ = 0;      // of the image, the next one
  // BILINEAR: rows of the image at the result's width, and which they are.
  std::vector<float> lines_[2];
  int64_t line_row_[2] = {};
  std::vector<std::byte> last_[4];  // BICUBIC: row i of the image is last_[i % 4]
};

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_RESIZE_H_
