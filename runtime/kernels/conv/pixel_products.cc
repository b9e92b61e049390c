#include "runtime/kernels/conv/pixel_products.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/kernels/gemm/sizes.h"

namespace tpurun::conv {

PixelProducts::PixelProducts(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                             const gemm::Tiles& tiles)
    : d_(dims),
      x_storage_(x.storage),
      dy_storage_(dy.storage),
      product_({.k = dims.n * dims.oh * dims.ow,
                .n = dims.f,
                .x = {x.storage, true, dims.kw * dims.c},
                .y = {dy.storage, false, dims.f},
                .products = {{x.part, dy.part}},
                .z_stride = dims.f},
               tiles) {}

bool PixelProducts::ReadsX() const {
  return d_.kh == 1 && d_.kw == 1 && d_.sh == 1 && d_.sw == 1 && d_.oh == d_.h && d_.ow == d_.w &&
         d_.top == 0 && d_.left == 0;
}

int64_t PixelProducts::PatchesBytes() const {
  if (ReadsX()) return 0;
  return gemm::RoundUp(d_.n * d_.oh * d_.ow * patch() * gemm::BytesOf(x_storage_), 64);
}

int64_t PixelProducts::ScratchBytes() const {
  return PatchesBytes() + product_.ScratchBytes(patch());
}

int64_t PixelProducts::CopiedBytes(int64_t kh, int64_t f) const {
  return kh * (PatchesBytes() + product_.CopiedBytes(patch(), f));
}

void PixelProducts::CopyPatches(const void* x, int64_t kh, void* to) const {
  const int64_t pixel_bytes = d_.c * gemm::BytesOf(x_storage_);
  auto* patch = static_cast<std::byte*>(to);
  for (int64_t row = 0; row < d_.n * d_.oh; ++row) {
    const int64_t image = row / d_.oh, h = row % d_.oh * d_.sh + kh * d_.dh - d_.top;
    const bool is_inside = h >= 0 && h < d_.h;
    const auto* const pixels = static_cast<const std::byte*>(x) +
                               (is_inside ? (image * d_.h + h) * d_.w * pixel_bytes : 0);
    for (int64_t ow = 0; ow < d_.ow; ++ow, patch += d_.kw * pixel_bytes) {
      const int64_t left = ow * d_.sw - d_.left;
      if (is_inside && left >= 0 && left + d_.kw <= d_.w) {
        std::memcpy(patch, pixels + left * pixel_bytes, d_.kw * pixel_bytes);
        continue;
      }
      const int64_t begin = is_inside ? std::clamp<int64_t>(-left, 0, d_.kw) : d_.kw;
      const int64_t end = std::clamp<int64_t>(d_.w - left, begin, d_.kw);
      std::memset(patch, 0, begin * pixel_bytes);
      if (begin < end)
        std::memcpy(patch + begin * pixel_bytes, pixels + (left + begin) * pixel_bytes,
                    (end - begin) * pixel_bytes);
      std::memset(patch + end * pixel_bytes, 0, (d_.kw - end) * pixel_bytes);
    }
  }
}

void PixelProducts::Run(const FilterGradArgs& args) const {
  if (args.f_begin == args.f_end) return;
  void* const patches = args.scratch;
  for (int64_t kh = args.kh_begin; kh < args.kh_end; ++kh) {
    if (!ReadsX()) CopyPatches(args.x, kh, patches);
    product_.Run({.x = ReadsX() ? args.x : patches,
                  .y = gemm::At(args.dy, dy_storage_, args.f_begin),
                  .z = args.dk + kh * patch() * d_.f + args.f_begin,
                  .m = patch(),
                  .n = args.f_end - args.f_begin,
                  .scratch = static_cast<std::byte*>(args.scratch) + PatchesBytes()});
  }
}

}  // namespace tpurun::conv
