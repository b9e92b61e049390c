#include "runtime/kernels/conv/pixel_products.h"

namespace tpurun::conv {

bool PixelProducts::Computes(const ConvDims& dims) {
  return dims.kh == 1 && dims.kw == 1 && dims.sh == 1 && dims.sw == 1 && dims.oh == dims.h &&
         dims.ow == dims.w && dims.top == 0 && dims.left == 0;
}

PixelProducts::PixelProducts(const ConvDims& dims, const Numbers& x, const Numbers& dy,
                             const gemm::Tiles& tiles)
    : c_(dims.c),
      dy_storage_(dy.storage),
      product_({.k = dims.n * dims.oh * dims.ow,
                .n = dims.f,
                .x = {x.storage, true, dims.c},
                .y = {dy.storage, false, dims.f},
                .products = {{x.part, dy.part}},
                .z_stride = dims.f},
               tiles) {}

void PixelProducts::Run(const FilterGradArgs& args) const {
  if (args.kh_begin == args.kh_end || args.f_begin == args.f_end) return;
  product_.Run({.x = args.x,
                .y = gemm::At(args.dy, dy_storage_, args.f_begin),
                .z = args.dk + args.f_begin,
                .m = c_,
                .n = args.f_end - args.f_begin,
                .scratch = args.scratch});
}

}  // namespace tpurun::conv
