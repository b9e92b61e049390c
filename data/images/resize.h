// Resizes images as tf.image.resize of TensorFlow 2.15, without antialiasing, does:
// tensorflow/core/kernels/image/resize_{bilinear,bicubic,area,nearest_neighbor}_op.cc.
#ifndef TPURUN_DATA_IMAGES_RESIZE_H_
#define TPURUN_DATA_IMAGES_RESIZE_H_

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

  // Writes height * width * size.channels values. T is uint8_t or float. Not with NEAREST_NEIGHBOR.
  template <typename T>
  void Resize(const T* from, const ImageSize& size, float* to);
  // With NEAREST_NEIGHBOR: values of `value_bytes` bytes are copied.
  void ResizeNearest(const void* from, const ImageSize& size, int64_t value_bytes, void* to) const;

 private:
  template <typename T>
  void Bilinear(const T* from, const ImageSize& size, float* to);
  template <typename T>
  void Bicubic(const T* from, const ImageSize& size, float* to);
  template <typename T>
  void Area(const T* from, const ImageSize& size, float* to);

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
  Taps columns_;
  std::vector<float> source_;    // one row of the image, as floats
  std::vector<float> lines_[2];  // rows of the result's width
};

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_RESIZE_H_
