#include "runtime/ops/direct_convolution.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "runtime/kernels/conv/convolution.h"
#include "runtime/kernels/conv/depthwise.h"
#include "runtime/kernels/conv/filter_grad.h"
#include "runtime/kernels/conv/pixel_products.h"
#include "runtime/kernels/conv/shifted_images.h"
#include "runtime/kernels/conv/winograd_convolution.h"
#include "runtime/kernels/conv/winograd_filter_grad.h"
#include "runtime/kernels/conv/winograd_tiles.h"
#include "runtime/kernels/conv/winograd_transforms.h"
#include "runtime/ops/gemm_call.h"
#include "runtime/ops/packing.h"
#include "runtime/ops/precision.h"

namespace tpurun {
namespace {

// Of a gradient of a kernel, for each worker.
constexpr int64_t kMostScratchBytes = int64_t{32} << 20;

// Of an operand at the only precisions that these kernels have, where part 0 is the number rounded.
// Tiles of bf16 numbers round anyway.
conv::Numbers NumbersOf(const OpCall& call, int operand, int part, const gemm::Tiles& tiles) {
  const bool is_rounded = tiles.numbers == 1 && HasOperand(call.rounded_operands, operand);
  return {StorageOf(call.operands[operand]), is_rounded ? gemm::kWhole : part};
}

template <typename Product>
Product FilterGradOf(const ConvDims& d, const OpCall& call, const gemm::Tiles& tiles) {
  const gemm::Parts parts = GemmProducts(PrecisionOf(call.attrs))[0];
  return {d, NumbersOf(call, 0, parts.x, tiles), NumbersOf(call, 1, parts.y, tiles), tiles};
}

// Calls `use` with the product that computes the gradient of a kernel on these tiles.
template <typename Use>
auto UseFilterGrad(const ConvDims& d, const OpCall& call, const gemm::Tiles& tiles,
                   const Use& use) {
  if (conv::IsDepthwise(d)) return use(FilterGradOf<conv::DepthwiseFilterGrad>(d, call, tiles));
  const auto products = FilterGradOf<conv::PixelProducts>(d, call, tiles);
  if (tiles.row_unit == 1) {
    const auto product = FilterGradOf<conv::FilterGrad>(d, call, tiles);
    const bool copies = product.AddsFewPixels() && products.ScratchBytes() <= kMostScratchBytes;
    return copies ? use(products) : use(product);
  }
  if (conv::PixelProducts::ReadsInPlace(d)) return use(products);
  return use(FilterGradOf<conv::ShiftedImages>(d, call, tiles));
}

// True if the gradient of the kernel is a product over pixels that is faster than the library's, or
// than one with the instructions of AVX-512: with enough rows and columns for the tiles.
// (16 images of 32 x 32 x 16, 3 x 3 and 16 results: AVX-512 takes 8.1 ms for 8 cores, this 3.5.
// 4 of 7 x 7 x 512, 3 x 3 and 512 results: 18 and 13 ms; profile of resnet_cifar and resnet50.)
bool SumsPixels(const ConvDims& d, const OpCall& call) {
  constexpr int64_t kLeast = 16;  // channels of x, and of y
  if (d.c < kLeast || d.f < kLeast || d.dw > 1 || d.groups > 1) return false;
  return UseFilterGrad(d, call, gemm::kAmxBFloat16Tiles, [](const auto& product) {
    return product.ScratchBytes() <= kMostScratchBytes;
  });
}

conv::ConvolutionDef DefOf(ConvKind kind, const ConvDims& d, const OpCall& call,
                           const gemm::Tiles& tiles) {
  const gemm::Parts parts = GemmProducts(PrecisionOf(call.attrs))[0];
  return {.dims = d,
          .is_input_grad = kind == ConvKind::kInputGrad,
          .operand = NumbersOf(call, 0, parts.x, tiles),
          .kernel = NumbersOf(call, 1, parts.y, tiles),
          .kernel_is_packed = !call.operands[1].layout.plain(),
          .result = StorageOf(call.results[0])};
}

// Operand 1 as conv::PackedKernel. Its dimensions stay those of the plain kernel.
std::optional<Shape> PackedKernelShape(ConvKind kind, const ConvDims& d, const OpCall& call,
                                       const gemm::Tiles& tiles) {
  const std::optional<conv::PackedKernel> packing =
      conv::Convolution::Packing(DefOf(kind, d, call, tiles), tiles);
  if (!packing) return std::nullopt;
  const bool is_input_grad = kind == ConvKind::kInputGrad;
  const int in = is_input_grad ? 3 : 2, out = 5 - in;  // the dimensions of channels
  const int64_t element = packing->columns * tiles.numbers;
  const int64_t pixel = packing->pixel_elements * element;
  BlockedLayout layout{.strides = {d.kw * pixel, pixel, 0, 0},
                       .blocks = {{out, packing->columns}},
                       .flipped = packing->falls};
  layout.strides[in] = element;
  layout.strides[out] = d.kh * d.kw * pixel;
  Shape packed{DType::kF32, call.operands[1].dims};
  PackNumbers(PrecisionOf(call.attrs), tiles, in, layout, packed);
  packed.layout = layout.Named(packing->Floats(d) * static_cast<int64_t>(sizeof(float)));
  return packed;
}

template <typename Product>
Product ConvolutionOf(ConvKind kind, const ConvDims& d, const OpCall& call,
                      const gemm::Tiles& tiles) {
  return {DefOf(kind, d, call, tiles), tiles};
}

int64_t ShareOf(const OpCall& call, int part) {
  return BeginOfPart(call, part + 1) - BeginOfPart(call, part);
}

template <typename Product>
void OfferConvolution(const OpCall& call, const Product& product, KernelOffer& offer) {
  offer.scratch_bytes = product.ScratchBytes();
  for (int part = 0; part < call.parts; ++part)
    offer.copied_bytes += product.CopiedBytes(ShareOf(call, part));
}

template <typename Product>
void OfferFilterGrad(const ConvDims& d, const OpCall& call, const Product& product,
                     KernelOffer& offer) {
  const WorkUnit unit = OpFlagsOf(call).unit;
  offer.scratch_bytes = product.ScratchBytes();
  for (int part = 0; part < call.parts; ++part) {
    const FilterGradShare share =
        ShareOfFilterGrad(d, unit, BeginOfPart(call, part), BeginOfPart(call, part + 1));
    offer.copied_bytes +=
        product.CopiedBytes(share.kh_end - share.kh_begin, share.f_end - share.f_begin);
  }
}

// But for a kernel that is packed so.
bool HasPlainOperands(const OpCall& call, const std::optional<Shape>& packed = std::nullopt) {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Shape& operand = call.operands[i];
    if (!operand.layout.plain() && !(i == 1 && operand == packed)) return false;
  }
  return true;
}

// True if minimal filtering is faster than the definition on the same tiles. There are enough
// channels that products take longer than transforms of tiles, and enough tiles that they take
// longer than the transform of the kernel; few pixels of the tiles lie outside the result; the
// transformed kernel is not large. (One thread, percent of the definition's time with AVX2, with
// AVX-512: 64 images of 16 x 16 x 32, 3 x 3 and 32 results 64 and 62; of 14 x 14 x 32, 5 x 5 and 64
// results 43 and 67; of 32 x 32 x 16, 3 x 3 and 16 results 81 and 98, but in a training of
// resnet_cifar 100 and 130. 1 of 4 x 4 x 512, 3 x 3 and 512 results 183 and 150, of 8 x 8 91 and
// 95; gradient of the kernel for 1 of 8 x 8 85 and 147, for 4 52 and 78, for 16 of 32 x 32 x 16, 3
// x 3 and 16 results 90 and 89.) For y and dx it does not depend on the number of images, nor do
// their bits.
bool FiltersMinimally(ConvKind kind, const ConvDims& d) {
  constexpr int64_t kLeast = 16;          // channels of x, and of y
  constexpr int64_t kLeastTogether = 64;  // for y and dx
  // A value near an edge (of a ReLU, of a pool's largest) goes to its other side by an error of y:
  // the weights of mnist differ from TensorFlow's after 6 steps with 5 x 5 taps of y.
  constexpr int64_t kMostTapsOfY = 3;
  constexpr int64_t kLeastTiles = 16, kLeastOfGrad = 64;  // of an image; of all images
  constexpr double kMostProducts = 0.75;                  // of those of the definition
  constexpr int64_t kMostKernel = int64_t{4} << 20;       // numbers of the transformed kernel
  if (!conv::HasWinograd(d) || std::min(d.c, d.f) < kLeast) return false;
  if (kind != ConvKind::kFilterGrad && d.c + d.f < kLeastTogether) return false;
  if (kind == ConvKind::kForward && d.kh > kMostTapsOfY) return false;
  const bool is_input_grad = kind == ConvKind::kInputGrad;
  const int64_t height = is_input_grad ? d.h : d.oh, width = is_input_grad ? d.w : d.ow;
  const int64_t tiles = conv::TileCounts(height, width).image();
  const int64_t planes = int64_t{conv::PointsOf(d.kh)} * conv::PointsOf(d.kh);
  const bool has_tiles =
      kind == ConvKind::kFilterGrad ? d.n * tiles >= kLeastOfGrad : tiles >= kLeastTiles;
  return has_tiles && planes * d.c * d.f <= kMostKernel &&
         static_cast<double>(tiles * planes) <=
             kMostProducts * static_cast<double>(height * width * d.kh * d.kw);
}

// True if kernels read bf16 on tiles of f32 numbers, too: operands are converted where they are
// packed, row by row, instead of all of them before the call (a training of resnet50 with AVX2,
// worker time of gradients of kernels: 2.10, now 1.98 s a step). Minimal filtering writes f32
// alone. Where it takes a call in f32, it is faster than the definition in bf16 (a step of
// resnet_cifar would take 10 % longer).
bool PacksBF16(ConvKind kind, const ConvDims& d) {
  return kind == ConvKind::kFilterGrad || !FiltersMinimally(kind, d);
}

std::optional<KernelOffer> OfferDirect(ConvKind kind, const ConvDims& d, const OpCall& call,
                                       const gemm::Tiles& tiles) {
  if (!HasDirectKernel(kind, d, call)) return std::nullopt;
  const bool is_depthwise = conv::IsDepthwise(d);
  if (is_depthwise && tiles.numbers > 1) return std::nullopt;
  const bool is_filter_grad = kind == ConvKind::kFilterGrad, reads_rows = tiles.row_unit > 1;
  if (reads_rows && !(is_filter_grad && SumsPixels(d, call))) return std::nullopt;
  KernelOffer offer;
  offer.native_bf16 = IsNativeBF16(call, tiles, PacksBF16(kind, d));
  if (is_filter_grad) {
    if (!HasPlainOperands(call)) return std::nullopt;
    UseFilterGrad(d, call, tiles,
                  [&](const auto& product) { OfferFilterGrad(d, call, product, offer); });
    return offer;
  }
  if (is_depthwise) {
    if (!HasPlainOperands(call)) return std::nullopt;
    OfferConvolution(call, ConvolutionOf<conv::DepthwiseConvolution>(kind, d, call, tiles), offer);
    return offer;
  }
  if (!conv::Convolution::Fills(DefOf(kind, d, call, tiles), tiles)) return std::nullopt;
  const std::optional<Shape> packed = PackedKernelShape(kind, d, call, tiles);
  if (!HasPlainOperands(call, packed)) return std::nullopt;
  OfferConvolution(call, ConvolutionOf<conv::Convolution>(kind, d, call, tiles), offer);
  if (packed) {
    offer.best_operands = call.operands;
    offer.best_operands[1] = *packed;
  }
  return offer;
}

// Gradients of the kernel whole (of a core, of a group of images) or in parts of columns: a part of
// some rows would compute all rows.
std::optional<KernelOffer> OfferWinograd(ConvKind kind, const ConvDims& d, const OpCall& call,
                                         const gemm::Tiles& tiles) {
  if (!HasDirectKernel(kind, d, call) || !HasPlainOperands(call) || !FiltersMinimally(kind, d) ||
      tiles.numbers != 1 || StorageOf(call.results[0]) != gemm::Storage::kF32) {
    return std::nullopt;
  }
  KernelOffer offer;
  offer.native_bf16 = IsNativeBF16(call, tiles, PacksBF16(kind, d));
  if (kind != ConvKind::kFilterGrad) {
    OfferConvolution(call, ConvolutionOf<conv::WinogradConvolution>(kind, d, call, tiles), offer);
    return offer;
  }
  if (call.parts > 1 && OpFlagsOf(call).unit != WorkUnit::kColumns) return std::nullopt;
  OfferFilterGrad(d, call, FilterGradOf<conv::WinogradFilterGrad>(d, call, tiles), offer);
  return offer;
}

template <typename Product>
std::unique_ptr<Kernel> MakeFilterGrad(const ConvDims& d, const OpCall& call,
                                       const Product& product) {
  const WorkUnit unit = OpFlagsOf(call).unit;
  return KernelOf([=](const KernelArgs& args) {
    const FilterGradShare share = ShareOfFilterGrad(d, unit, args.begin, args.end);
    product.Run({.x = args.operands[0],
                 .dy = args.operands[1],
                 .dk = static_cast<float*>(args.results[0]),
                 .kh_begin = share.kh_begin,
                 .kh_end = share.kh_end,
                 .f_begin = share.f_begin,
                 .f_end = share.f_end,
                 .scratch = args.scratch});
  });
}

template <typename Product>
std::unique_ptr<Kernel> MakeConvolution(const OpCall& call, const Product& product) {
  const bool has_bias = call.operands.size() > 2;
  return KernelOf([=](const KernelArgs& args) {
    product.Run({.operand = args.operands[0],
                 .kernel = args.operands[1],
                 .bias = has_bias ? static_cast<const float*>(args.operands[2]) : nullptr,
                 .result = args.results[0],
                 .begin = args.begin,
                 .end = args.end,
                 .scratch = args.scratch});
  });
}

std::unique_ptr<Kernel> MakeDirect(ConvKind kind, const ConvDims& d, const OpCall& call,
                                   const gemm::Tiles& tiles) {
  if (kind == ConvKind::kFilterGrad) {
    return UseFilterGrad(d, call, tiles,
                         [&](const auto& product) { return MakeFilterGrad(d, call, product); });
  }
  if (conv::IsDepthwise(d))
    return MakeConvolution(call, ConvolutionOf<conv::DepthwiseConvolution>(kind, d, call, tiles));
  return MakeConvolution(call, ConvolutionOf<conv::Convolution>(kind, d, call, tiles));
}

std::unique_ptr<Kernel> MakeWinograd(ConvKind kind, const ConvDims& d, const OpCall& call,
                                     const gemm::Tiles& tiles) {
  if (kind == ConvKind::kFilterGrad)
    return MakeFilterGrad(d, call, FilterGradOf<conv::WinogradFilterGrad>(d, call, tiles));
  return MakeConvolution(call, ConvolutionOf<conv::WinogradConvolution>(kind, d, call, tiles));
}

// True if depthwise convolutions of runtime/kernels/conv are faster than the library's in f32. (Ms
// of two workers with AVX2, 64 images, the library's and these, y, dx and dk: 3 x 3 of 32 x 32 x 64
// 1.6 and 2.3, 1.7 and 1.7, 3.6 and 1.5; 7 x 7 of 28 x 28 x 96 4.8 and 5.3, 6.5 and 5.4, 29
// and 7.7; stride 2 of 56 x 56 x 144 11.5 and 7.6, 10.6 and 9.7, 12.7 and 7.7; 3 x 3 of 64 x 64 x
// 16 1.0 and 2.2, 1.2 and 2.0, 1.8 and 2.3.) Of bf16 numbers, which these read, they are taken
// anyway unless the library multiplies bf16, too: 1.8 and 1.5, 1.8 and 1.2, 3.2 and 1.6 of the
// first, 1.5 and 1.9, 1.4 and 1.8, 2.2 and 2.3 of the last.
bool IsFasterDepthwise(ConvKind kind, const ConvDims& d) {
  constexpr int64_t kLeastChannels = 32, kManyTaps = 25;
  if (kind == ConvKind::kFilterGrad) return true;
  const bool has_strides = d.sh > 1 || d.sw > 1;
  return d.c >= kLeastChannels &&
         (has_strides || (kind == ConvKind::kInputGrad && d.kh * d.kw >= kManyTaps));
}

}  // namespace

bool HasDirectKernel(ConvKind kind, const ConvDims& d, const OpCall& call) {
  const bool is_empty = std::min({d.h, d.w, d.c, d.kh, d.kw, d.f}) == 0;
  if (is_empty || !(d.groups == 1 || conv::IsDepthwise(d)) || !conv::ReachesPixels(d) ||
      GemmProducts(PrecisionOf(call.attrs)).size() != 1)
    return false;
  return kind != ConvKind::kInputGrad || ((d.dh == 1 || d.sh == 1) && (d.dw == 1 || d.sw == 1));
}

bool IsDirect(ConvKind kind, const ConvDims& dims, const OpCall& call, const Machine& machine) {
  const Precision precision = PrecisionOf(call.attrs);
  if (LibraryMultiplies(precision, machine) || !HasDirectKernel(kind, dims, call)) return false;
  const bool is_own = machine.kernels == KernelChoice::kOwn;
  if (!is_own && conv::IsDepthwise(dims) && !IsFasterDepthwise(kind, dims)) return false;
  // The library's convolutions have AMX instructions, too.
  const bool has_amx = precision != Precision::kF32 && machine.amx_bf16;
  if (!has_amx || is_own) return true;
  return kind == ConvKind::kFilterGrad && SumsPixels(dims, call);
}

std::vector<KernelDef> DirectConvKernels(ConvKind kind, ConvDims (*dims_of)(const OpCall& call)) {
  std::vector<KernelDef> kernels = GemmKernels(
      [=](const OpCall& call, const gemm::Tiles& tiles) {
        return OfferDirect(kind, dims_of(call), call, tiles);
      },
      [=](const OpCall& call, const gemm::Tiles& tiles) {
        return MakeDirect(kind, dims_of(call), call, tiles);
      },
      "direct");
  std::vector<KernelDef> winograd = GemmKernels(
      [=](const OpCall& call, const gemm::Tiles& tiles) {
        return OfferWinograd(kind, dims_of(call), call, tiles);
      },
      [=](const OpCall& call, const gemm::Tiles& tiles) {
        return MakeWinograd(kind, dims_of(call), call, tiles);
      },
      "winograd");
  const auto multiplies_bf16 = [](const KernelDef& kernel) { return kernel.multiplies_bf16; };
  std::erase_if(winograd, multiplies_bf16);
  for (KernelDef& kernel : winograd) kernel.reorders_sums = true;
  kernels.insert(std::find_if_not(kernels.begin(), kernels.end(), multiplies_bf16),
                 std::make_move_iterator(winograd.begin()),
                 std::make_move_iterator(winograd.end()));
  return kernels;
}

}  // namespace tpurun
