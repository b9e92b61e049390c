#include "runtime/kernels/conv/pixel_products.h"

namespace tpurun::conv {

bool PixelProducts::Computes(const ConvDims& dims) {
  return dims.kh == 1 && dims.kw == 1 && dims.sh == 1 && dims.sw == 1 && dims.oh == dims.h &&
         dims.ow == dims.w && dims.top == 0 && dims.left == 0;
}

PixelProducts::PixelProducts(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                             const gemm::Tiles& tiles)
    : c_(dims.c),
      f_(dims.f),
      x_storage_(x.storage),
      dy_storage_(dy.storage),
      product_({.k = dims.n * dims.oh * dims.ow,
                .n = dims.f,
                .x = {x.storage, true, dims.c},
                .y = {dy.storage, false, dims.f},
                .products = {{x.part, dy.part}},
                .z_stride = dims.f},
               tiles) {}

void PixelProducts::Run(const FilterGradArgs& args) const {
  if (args.row_begin == args.row_end || args.f_begin == args.f_end) return;
  product_.Run({.x = gemm::At(args.x, x_storage_, args.row_begin),
                .y = gemm::At(args.dy, dy_storage_, args.f_begin),
                .z = args.dk + args.row_begin * f_ + args.f_begin,
                .m = args.row_end - args.row_begin,
                .n = args.f_end - args.f_begin,
                .scratch = args.scratch});
}

}  // namespace tpurun::conv
