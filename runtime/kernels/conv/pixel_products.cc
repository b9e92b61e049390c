#include "runtime/kernels/conv/pixel_products.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {

bool PixelProducts::ReadsInPlace(const ConvDims& dims) {
  return dims.kh == 1 && dims.kw == 1 && dims.sh == 1 && dims.sw == 1 && dims.oh == dims.h &&
         dims.ow == dims.w && dims.top == 0 && dims.left == 0;
}

PixelProducts::PixelProducts(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                             const gemm::Tiles& tiles)
    : d_(dims),
      reads_in_place_(ReadsInPlace(dims)),
      x_storage_(x.storage),
      dy_storage_(dy.storage),
      product_({.k = dims.n * dims.oh * dims.ow,
                .n = dims.f,
                .x = {x.storage, true, dims.kw * dims.c},
                .y = {dy.storage, false, dims.f},
                .products = {{x.part, dy.part}},
                .z_stride = dims.f},
               tiles) {}

int64_t PixelProducts::CopyBytes() const {
  if (reads_in_place_) return 0;
  constexpr int64_t kCacheLine = 64;
  return gemm::RoundUp(d_.n * d_.oh * d_.ow * d_.kw * d_.c * gemm::BytesOf(x_storage_), kCacheLine);
}

void PixelProducts::Copy(const void* x, int64_t kh, void* to) const {
  const int64_t pixel = d_.c * gemm::BytesOf(x_storage_);
  auto* next = static_cast<std::byte*>(to);
  const auto zeros = [&](int64_t pixels) {
    std::memset(next, 0, pixels * pixel);
    next += pixels * pixel;
  };
  for (int64_t row = 0; row < d_.n * d_.oh; ++row) {
    const int64_t image = row / d_.oh, h = row % d_.oh * d_.sh + kh * d_.dh - d_.top;
    if (h < 0 || h >= d_.h) {
      zeros(d_.ow * d_.kw);
      continue;
    }
    const auto* const line = static_cast<const std::byte*>(x) + (image * d_.h + h) * d_.w * pixel;
    // Pixels [w, w + count) of the row, of which [begin, end) are there.
    const auto copy = [&](int64_t w, int64_t count) {
      const int64_t begin = std::clamp<int64_t>(0, w, w + count);
      const int64_t end = std::clamp(d_.w, begin, w + count);
      zeros(begin - w);
      if (begin < end) std::memcpy(next, line + begin * pixel, (end - begin) * pixel);
      next += (end - begin) * pixel;
      zeros(w + count - end);
    };
    for (int64_t ow = 0; ow < d_.ow; ++ow) {
      const int64_t w = ow * d_.sw - d_.left;
      if (d_.dw == 1) {
        copy(w, d_.kw);
      } else {
        for (int64_t kw = 0; kw < d_.kw; ++kw) copy(w + kw * d_.dw, 1);
      }
    }
  }
}

void PixelProducts::Run(const FilterGradArgs& args) const {
  if (args.f_begin == args.f_end) return;
  const int64_t rows = d_.kw * d_.c;
  for (int64_t kh = args.kh_begin; kh < args.kh_end; ++kh) {
    if (!reads_in_place_) Copy(args.x, kh, args.scratch);
    product_.Run({.x = reads_in_place_ ? args.x : args.scratch,
                  .y = gemm::At(args.dy, dy_storage_, args.f_begin),
                  .z = args.dk + kh * rows * d_.f + args.f_begin,
                  .m = rows,
                  .n = args.f_end - args.f_begin,
                  .scratch = static_cast<std::byte*>(args.scratch) + CopyBytes()});
  }
}

}  // namespace tpurun::conv
