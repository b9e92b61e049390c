// 2-D convolutions over NHWC values with HWIO kernels, as tf.nn.conv2d.
//
//   y[n,oh,ow,f] = sum over kh, kw, c of
//                  x[n, oh*sh + kh*dh - top, ow*sw + kw*dw - left, g*C/G + c] k[kh,kw,c,f]
//
// x is zero outside its bounds. The kernel has C/G input channels: output channel f belongs to
// group g = f / (F/G) and reads only the channels of that group. At precision 0 both inputs are
// rounded to bf16, as in matmul. Sums are f32: the reference of each direction is a chain of fused
// multiply-adds for each element, over rising (kh, kw, c), (oh, ow, f) and (n, oh, ow).
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/fused_multiply_add.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/conv_dims.h"
#include "runtime/ops/direct_convolution.h"
#include "runtime/ops/entries.h"
#include "runtime/ops/export_convolution.h"
#include "runtime/ops/onednn/convolutions.h"
#include "runtime/ops/onednn/onednn.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/precision.h"

namespace tpurun {
namespace {

ConvDims ForwardDims(const OpCall& call) {
  return ConvDimsOf(call.operands[0].dims, call.operands[1].dims, call.results[0].dims, call.attrs);
}
ConvDims InputGradDims(const OpCall& call) {
  return ConvDimsOf(call.results[0].dims, call.operands[1].dims, call.operands[0].dims, call.attrs);
}
// With batch_dims those of all entries together.
ConvDims FilterGradDims(const OpCall& call) {
  if (call.attrs.Int(kBatchDims) > 0) {
    ConvDims dims = FilterGradDims(EntryOf(call, 1));
    dims.n *= call.operands[0].dims[0];
    return dims;
  }
  return ConvDimsOf(call.operands[0].dims, call.results[0].dims, call.operands[1].dims, call.attrs);
}

bool AllAtLeast(const std::vector<int64_t>& values, size_t count, int64_t least) {
  return values.size() == count && std::all_of(values.begin(), values.end(),
                                               [least](int64_t value) { return value >= least; });
}

// True if a kernel with `in` input channels and `out` filters divides `channels` channels into
// groups.
bool MakeGroups(int64_t channels, int64_t in, int64_t out) {
  if (channels == in) return true;
  return channels > 0 && in > 0 && channels % in == 0 && out % (channels / in) == 0;
}

// The shape of y, or InvalidArgument with the reason if the shapes do not fit.
absl::StatusOr<Shape> OutputShape(const std::vector<int64_t>& x, const std::vector<int64_t>& kernel,
                                  const Attrs& attrs) {
  const std::vector<int64_t> strides = attrs.Ints("strides"), pads = attrs.Ints("pads"),
                             dilations = DilationsOf(attrs);
  if (!AllAtLeast(strides, 2, 1) || !AllAtLeast(pads, 4, 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("conv2d: want 2 strides of 1 or more and 4 pads of 0 or more, got ",
                     DimsToString(strides), " and ", DimsToString(pads)));
  }
  if (!AllAtLeast(dilations, 2, 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("conv2d: want 2 dilations of 1 or more, got ", DimsToString(dilations)));
  }
  if (!ValidPrecision(attrs)) {
    return absl::InvalidArgumentError(
        absl::StrCat("conv2d: precision is 0 to 3, got ", attrs.Int("precision")));
  }
  if (x.size() != 4 || kernel.size() != 4 || !MakeGroups(x[3], kernel[2], kernel[3])) {
    return absl::InvalidArgumentError(absl::StrCat(
        "conv2d: want x [N,H,W,C] and a kernel [KH,KW,C/groups,F], groups dividing C and F, got ",
        DimsToString(x), " and ", DimsToString(kernel)));
  }
  Shape y{DType::kF32, {x[0], 0, 0, kernel[3]}};
  for (int i = 0; i < 2; ++i) {
    const int64_t size = x[i + 1] + pads[2 * i] + pads[2 * i + 1], gaps = kernel[i] - 1;
    // The same as size - 1 - gaps * dilation >= 0, without overflow.
    if (size < 1 || (gaps > 0 && dilations[i] > (size - 1) / gaps)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "conv2d: a kernel of ", kernel[0], "x", kernel[1],
          attrs.Has(kDilations) ? absl::StrCat(" with dilations ", DimsToString(dilations)) : "",
          " does not fit into ", DimsToString(x), " with pads ", DimsToString(pads)));
    }
    y.dims[i + 1] = (size - 1 - gaps * dilations[i]) / strides[i] + 1;
  }
  return y;
}

absl::Status WantFloats(const char* op, std::span<const Shape> operands) {
  for (const Shape& operand : operands.first(2)) {
    if (operand.dtype == DType::kF32) continue;
    return absl::InvalidArgumentError(absl::StrCat(op, ": want f32, got ", operand.ToString()));
  }
  return absl::OkStatus();
}

const std::vector<AttrDef>& ConvAttrs() {
  static const std::vector<AttrDef>& attrs =
      *new std::vector<AttrDef>{{"precision", int64_t{0}, true},
                                {"strides", std::vector<int64_t>{}, true},
                                {"pads", std::vector<int64_t>{}, true},
                                {kDilations, std::vector<int64_t>{}}};
  return attrs;
}

std::vector<AttrDef> ConvAttrsAnd(const char* dims) {
  std::vector<AttrDef> attrs = ConvAttrs();
  attrs.push_back({dims, std::vector<int64_t>{}, true});
  return attrs;
}

void RoundsBothAtDefault(const OpCall& call, OpFlags& flags) {
  if (PrecisionOf(call.attrs) == Precision::kDefault) flags.rounds = 3u;
}

void SetProducts(const ConvDims& d, const OpCall& call, Cost& cost) {
  const double products = static_cast<double>(PartProducts(PrecisionOf(call.attrs)).size());
  cost.matrix_flops = 2 * d.MultiplyAdds(static_cast<double>(d.n)) * products;
}

constexpr TpuStage::Array kImage{TpuStage::Array::Of::kOperand, 0};
constexpr TpuStage::Array kSecondImage{TpuStage::Array::Of::kOperand, 1};
constexpr TpuStage::Array kResultImage{TpuStage::Array::Of::kResult, 0};

// As one matrix product over the places of the window. Groups of few channels are packed into it
// with zeros between them. Places between strides are not computed. A convolution of single
// channels is work for the vector unit.
TpuWork ConvolutionOnTpu(const OpCall& call, const ConvDims& d, ConvKind kind) {
  const int64_t packed =
      std::clamp<int64_t>(kTpuLanes / std::max(d.group_c(), d.group_f()), 1, d.groups);
  const int64_t c = packed * d.group_c(), f = packed * d.group_f();
  const int64_t places = d.n * d.oh * d.ow, window = d.kh * d.kw;
  TpuProduct product;
  switch (kind) {
    case ConvKind::kForward:
      product = {.m = places, .k = window * c, .n = f};
      break;
    case ConvKind::kInputGrad:
      product = {.m = places, .k = window * f, .n = c};
      break;
    case ConvKind::kFilterGrad:
      product = {.m = window * c, .k = places, .n = f};
      break;
  }
  product.count = TpuPasses(call.attrs) * static_cast<double>((d.groups + packed - 1) / packed);
  product.density = 1.0 / static_cast<double>(packed);
  TpuWork work = TpuProducts(call, {product});
  TpuStage& stage = work.stages[0];
  if (d.groups > 1 && d.group_c() == 1) {
    stage.products.clear();
    stage.vector_flops += 2 * d.MultiplyAdds(static_cast<double>(d.n));
  }
  stage.images = {kImage, kind == ConvKind::kFilterGrad ? kSecondImage : kResultImage};
  return work;
}

// Multiply-adds for which the copies that each part makes are worth it.
constexpr double kWorthParts = 32 * kLibraryMultiplyAdds;

// A large filter gradient is partitioned by output channels, but not across groups. Each part then
// copies x and its columns of dy. Copying must cost little compared with the products: a part of 16
// channels uses each number of x for kPlaces places of the kernel, or each of dy in kProducts. The
// smaller ones, and those of few channels in f32, are partitioned by rows of the kernel. The
// library computes parts of channels alone. (In f32 with one replica, split_k has divided the
// images of most of them.)
WorkUnit FilterGradUnit(const OpCall& call) {
  constexpr int64_t kProducts = 256, kPlaces = 9;
  constexpr int64_t kFewChannels = 32;  // less than two parts of channels
  const ConvDims d = FilterGradDims(call);
  const double multiply_adds = d.MultiplyAdds(static_cast<double>(d.n));
  if (multiply_adds < kLibraryMultiplyAdds) return WorkUnit::kRows;
  const bool is_direct = HasDirectKernel(ConvKind::kFilterGrad, d, call);
  const bool has_places =
      is_direct && PrecisionOf(call.attrs) == Precision::kF32 && d.kh * d.kw >= kPlaces;
  const bool may_cut = d.groups == 1 && (has_places || d.kh * d.kw * d.c >= kProducts);
  if (!may_cut || multiply_adds < kWorthParts)
    return is_direct ? WorkUnit::kRows : WorkUnit::kWhole;
  return has_places && d.f < kFewChannels ? WorkUnit::kRows : WorkUnit::kColumns;
}

// Calls f(x offset, y offset, kernel offset) for each pixel of x and each pixel of y of image n
// that a kernel position connects, group by group. Offsets are those of the group's first channels,
// in elements.
template <typename F>
void ForEachTap(const ConvDims& d, int64_t n, F f) {
  for (int64_t oh = 0; oh < d.oh; ++oh) {
    for (int64_t kh = 0; kh < d.kh; ++kh) {
      const int64_t h = oh * d.sh + kh * d.dh - d.top;
      if (h < 0 || h >= d.h) continue;
      for (int64_t ow = 0; ow < d.ow; ++ow) {
        for (int64_t kw = 0; kw < d.kw; ++kw) {
          const int64_t w = ow * d.sw + kw * d.dw - d.left;
          if (w < 0 || w >= d.w) continue;
          for (int64_t g = 0; g < d.groups; ++g) {
            f(((n * d.h + h) * d.w + w) * d.c + g * d.group_c(),
              ((n * d.oh + oh) * d.ow + ow) * d.f + g * d.group_f(),
              (kh * d.kw + kw) * d.group_c() * d.f + g * d.group_f());
          }
        }
      }
    }
  }
}

std::vector<KernelDef> ConvKernels(ConvKind kind, ConvDims (*dims_of)(const OpCall& call)) {
  std::vector<KernelDef> kernels = LibraryConvKernels(kind, dims_of);
  for (KernelDef& kernel : kernels) {
    kernel.offer = [kind, dims_of, offer = std::move(kernel.offer)](
                       const OpCall& call, const Machine& machine) -> std::optional<KernelOffer> {
      if (IsDirect(kind, dims_of(call), call, machine)) return std::nullopt;
      return offer(call, machine);
    };
  }
  for (KernelDef& kernel : DirectConvKernels(kind, dims_of)) kernels.push_back(std::move(kernel));
  return kernels;
}

const OpDef& Conv2dOp();
const OpDef& Conv2dInputGradOp();
const OpDef& Conv2dFilterGradOp();

// The attributes that the three directions of a convolution share.
Attrs CommonAttrs(const Attrs& attrs) {
  Attrs common;
  for (const char* name : {"precision", "strides", "pads", kDilations}) {
    const auto found = attrs.values().find(name);
    if (found != attrs.values().end()) common.Set(name, found->second);
  }
  return common;
}

// Each direction of a convolution, given the attributes of another direction.
Value Forward(GraphBuilder& b, Value x, Value kernel, const Attrs& attrs) {
  return b.Add(Conv2dOp(), {x, kernel}, CommonAttrs(attrs), "Conv2D");
}
Value InputGrad(GraphBuilder& b, Value dy, Value kernel, Value x, const Attrs& attrs) {
  Attrs to_x = CommonAttrs(attrs);
  to_x.Set("x_dims", b.shape(x).dims);
  return b.Add(Conv2dInputGradOp(), {dy, kernel}, to_x, "Conv2DBackpropInput");
}
Value FilterGrad(GraphBuilder& b, Value x, Value dy, Value kernel, const Attrs& attrs) {
  Attrs to_kernel = CommonAttrs(attrs);
  to_kernel.Set("kernel_dims", b.shape(kernel).dims);
  return b.Add(Conv2dFilterGradOp(), {x, dy}, to_kernel, "Conv2DBackpropFilter");
}

const OpDef& Conv2dOp() {
  static const OpDef& op = *new OpDef{
      .name = "conv2d",
      .doc =
          "x (N, H, W, C), kernel (KH, KW, C/groups, F) (, bias (F)) -> y (N, OH, OW, F); strides "
          "and dilations {height, width}, pads {top, bottom, left, right}; precision as in matmul.",
      .min_operands = 2,
      .max_operands = 3,
      .attrs = ConvAttrs(),
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0},
      .refine_flags = RoundsBothAtDefault,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        RETURN_IF_ERROR(WantFloats("conv2d", operands));
        ASSIGN_OR_RETURN(Shape y, OutputShape(operands[0].dims, operands[1].dims, attrs));
        RETURN_IF_ERROR(WantBias("conv2d", operands, y.dims));
        return std::vector<Shape>{y};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            const Value x = node.inputs[0], kernel = node.inputs[1];
            std::vector<Value> gradients = {InputGrad(b, dy[0], kernel, x, node.attrs),
                                            FilterGrad(b, x, dy[0], kernel, node.attrs)};
            if (node.inputs.size() > 2) gradients.push_back(SumOfRows(b, dy[0], "BiasAddGrad"));
            return gradients;
          },
      .reference =
          [](const OpCall& call) {
            const ConvDims d = ForwardDims(call);
            const Precision precision = PrecisionOf(call.attrs);
            const bool has_bias = call.operands.size() > 2;
            return KernelOf([=, products = PartProducts(precision)](const KernelArgs& args) {
              const float* x = static_cast<const float*>(args.operands[0]);
              const float* kernel = static_cast<const float*>(args.operands[1]);
              const float* bias = has_bias ? static_cast<const float*>(args.operands[2]) : nullptr;
              float* y = static_cast<float*>(args.results[0]);
              const int64_t image = d.oh * d.ow * d.f;
              std::fill(y + args.begin * image, y + args.end * image, 0.0f);
              for (int64_t n = args.begin; n < args.end; ++n) {
                for (const PartProduct product : products) {
                  ForEachTap(d, n, [&](int64_t at_x, int64_t at_y, int64_t at_kernel) {
                    for (int64_t c = 0; c < d.group_c(); ++c) {
                      const float v = PartOf(x[at_x + c], precision, product.x);
                      for (int64_t f = 0; f < d.group_f(); ++f) {
                        float& sum = y[at_y + f];
                        sum = FusedMultiplyAdd(
                            v, PartOf(kernel[at_kernel + c * d.f + f], precision, product.y), sum);
                      }
                    }
                  });
                }
              }
              for (int64_t i = args.begin * image; has_bias && i < args.end * image; i += d.f) {
                for (int64_t f = 0; f < d.f; ++f) y[i + f] += bias[f];
              }
            });
          },
      .kernels = ConvKernels(ConvKind::kForward, ForwardDims),
      .cost =
          [](const OpCall& call, Cost& cost) {
            SetProducts(ForwardDims(call), call, cost);
            const bool has_bias = call.operands.size() > 2;
            if (has_bias) cost.vector_flops = static_cast<double>(call.results[0].num_elements());
          },
      .tpu =
          [](const OpCall& call) {
            return ConvolutionOnTpu(call, ForwardDims(call), ConvKind::kForward);
          },
      .tensorflow = ConvolutionToTensorFlow,
      .onnx = ConvolutionToOnnx,
      .rules = {.bias = 2}};
  return op;
}

const OpDef& Conv2dInputGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "conv2d_input_grad",
      .doc =
          "dy (N, OH, OW, F), kernel (KH, KW, C/groups, F) -> dx of `x_dims` (N, H, W, C): the "
          "gradient of conv2d; as a value of its own the transposed convolution.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = ConvAttrsAnd("x_dims"),
      .flags = {.unit = WorkUnit::kRows, .row_operands = 1u << 0},
      .refine_flags = RoundsBothAtDefault,
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        RETURN_IF_ERROR(WantFloats("conv2d_input_grad", operands));
        ASSIGN_OR_RETURN(const Shape y, OutputShape(attrs.Ints("x_dims"), operands[1].dims, attrs));
        if (y.dims != operands[0].dims) {
          return absl::InvalidArgumentError(absl::StrCat(
              "conv2d_input_grad: want dy ", y.ToString(), ", got ", operands[0].ToString()));
        }
        return std::vector<Shape>{Shape{DType::kF32, attrs.Ints("x_dims")}};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> ddx) {
            const Value dy = node.inputs[0], kernel = node.inputs[1];
            return std::vector<Value>{Forward(b, ddx[0], kernel, node.attrs),
                                      FilterGrad(b, ddx[0], dy, kernel, node.attrs)};
          },
      .reference =
          [](const OpCall& call) {
            const ConvDims d = InputGradDims(call);
            const Precision precision = PrecisionOf(call.attrs);
            return KernelOf([=, products = PartProducts(precision)](const KernelArgs& args) {
              const float* dy = static_cast<const float*>(args.operands[0]);
              const float* kernel = static_cast<const float*>(args.operands[1]);
              float* dx = static_cast<float*>(args.results[0]);
              const int64_t image = d.h * d.w * d.c;
              std::fill(dx + args.begin * image, dx + args.end * image, 0.0f);
              for (int64_t n = args.begin; n < args.end; ++n) {
                for (const PartProduct product : products) {
                  ForEachTap(d, n, [&](int64_t at_x, int64_t at_y, int64_t at_kernel) {
                    for (int64_t c = 0; c < d.group_c(); ++c) {
                      float& sum = dx[at_x + c];
                      for (int64_t f = 0; f < d.group_f(); ++f) {
                        sum = FusedMultiplyAdd(
                            PartOf(dy[at_y + f], precision, product.x),
                            PartOf(kernel[at_kernel + c * d.f + f], precision, product.y), sum);
                      }
                    }
                  });
                }
              }
            });
          },
      .kernels = ConvKernels(ConvKind::kInputGrad, InputGradDims),
      .cost = [](const OpCall& call, Cost& cost) { SetProducts(InputGradDims(call), call, cost); },
      .tpu =
          [](const OpCall& call) {
            return ConvolutionOnTpu(call, InputGradDims(call), ConvKind::kInputGrad);
          },
      .tensorflow = TransposedConvolutionToTensorFlow,
      .onnx = TransposedConvolutionToOnnx};
  return op;
}

// bf16 is native only in the operands: the kernels write f32.
std::vector<KernelDef> WritingF32(std::vector<KernelDef> kernels) {
  for (KernelDef& kernel : kernels) {
    kernel.offer = [offer = std::move(kernel.offer)](const OpCall& call, const Machine& machine) {
      const bool is_f32 = call.results[0].dtype == DType::kF32;
      return is_f32 ? offer(call, machine) : std::nullopt;
    };
  }
  return kernels;
}

std::vector<AttrDef> FilterGradAttrs() {
  std::vector<AttrDef> attrs = ConvAttrsAnd("kernel_dims");
  attrs.push_back({kBatchDims, int64_t{0}});
  return attrs;
}

absl::StatusOr<std::vector<Shape>> FilterGradShape(std::span<const Shape> operands,
                                                   const Attrs& attrs) {
  RETURN_IF_ERROR(WantFloats("conv2d_filter_grad", operands));
  const int64_t batch_dims = attrs.Int(kBatchDims);
  std::vector<int64_t> x = operands[0].dims, batch;
  if (batch_dims < 0 || batch_dims > 1 || std::ssize(x) < batch_dims) {
    return absl::InvalidArgumentError(
        absl::StrCat("conv2d_filter_grad: want batch_dims 0 or 1 and x of as many dimensions, got ",
                     batch_dims, " and ", operands[0].ToString()));
  }
  batch.assign(x.begin(), x.begin() + batch_dims);
  x.erase(x.begin(), x.begin() + batch_dims);
  std::vector<int64_t> kernel = attrs.Ints("kernel_dims");
  ASSIGN_OR_RETURN(Shape y, OutputShape(x, kernel, attrs));
  y.dims.insert(y.dims.begin(), batch.begin(), batch.end());
  if (y.dims != operands[1].dims) {
    return absl::InvalidArgumentError(absl::StrCat("conv2d_filter_grad: want dy ", y.ToString(),
                                                   ", got ", operands[1].ToString()));
  }
  kernel.insert(kernel.begin(), batch.begin(), batch.end());
  return std::vector<Shape>{Shape{DType::kF32, kernel}};
}

std::unique_ptr<Kernel> FilterGradReference(const OpCall& call) {
  if (call.attrs.Int(kBatchDims) > 0) {
    const OpCall one = EntryOf(call, 1);
    return ForEachEntry(one, call, FilterGradReference(one));
  }
  const ConvDims d = FilterGradDims(call);
  const WorkUnit unit = OpFlagsOf(call).unit;
  const Precision precision = PrecisionOf(call.attrs);
  return KernelOf([=, products = PartProducts(precision)](const KernelArgs& args) {
    const float* x = static_cast<const float*>(args.operands[0]);
    const float* dy = static_cast<const float*>(args.operands[1]);
    float* dk = static_cast<float*>(args.results[0]);
    const FilterGradShare share = ShareOfFilterGrad(d, unit, args.begin, args.end);
    if (d.f == 0) return;
    const int64_t f_begin = share.f_begin;
    const int64_t f_end = std::min(share.f_end - f_begin, d.group_f()) + f_begin;
    const int64_t rows_of_kh = d.kw * d.group_c();
    const int64_t row_begin = share.kh_begin * rows_of_kh, row_end = share.kh_end * rows_of_kh;
    for (int64_t row = row_begin; row < row_end; ++row)
      std::fill(dk + row * d.f + f_begin, dk + row * d.f + share.f_end, 0.0f);
    for (int64_t n = 0; n < d.n; ++n) {
      for (const PartProduct product : products) {
        const auto add_tap = [&](int64_t at_x, int64_t at_y, int64_t at_kernel) {
          for (int64_t c = 0; c < d.group_c(); ++c) {
            const int64_t row = at_kernel / d.f + c;
            if (row < row_begin || row >= row_end) continue;
            const float v = PartOf(x[at_x + c], precision, product.x);
            for (int64_t f = f_begin; f < f_end; ++f) {
              float& sum = dk[at_kernel + c * d.f + f];
              sum = FusedMultiplyAdd(v, PartOf(dy[at_y + f], precision, product.y), sum);
            }
          }
        };
        ForEachTap(d, n, add_tap);
      }
    }
  });
}

// Kernels that compute the entries of batch_dims one by one, too.
std::vector<KernelDef> OfEntries(std::vector<KernelDef> kernels) {
  for (KernelDef& kernel : kernels) {
    kernel.offer = [offer = std::move(kernel.offer)](
                       const OpCall& call, const Machine& machine) -> std::optional<KernelOffer> {
      if (call.attrs.Int(kBatchDims) == 0) return offer(call, machine);
      std::optional<KernelOffer> of_one = offer(EntryOf(call, 1), machine);
      if (!of_one) return of_one;
      of_one->best_operands.clear();
      of_one->copied_bytes *= call.results[0].dims[0];
      return of_one;
    };
    kernel.make = [make = std::move(kernel.make)](const OpCall& call, const KernelOffer& offer) {
      if (call.attrs.Int(kBatchDims) == 0) return make(call, offer);
      const OpCall one = EntryOf(call, 1);
      return ForEachEntry(one, call, make(one, offer));
    };
  }
  return kernels;
}

// Own kernels in f32 that copy x and dy in each part of their elements. The gradients of the
// groups are small beside x and dy. (GFLOP/s of a thread with AVX2, AVX-512; 128 images in parts
// of the gradient and 16 images: 32 x 32 x 16, 3 x 3 and 16 results 57 and 82, 71 and 116;
// 8 x 8 x 64 and 64 results 84 and 111, 117 and 209; 14 x 14 x 32, 5 x 5 and 64 results 85 and 114,
// 152 and 240.)
bool SplitsFilterGrad(const OpCall& call, int64_t groups) {
  const ConvDims d = FilterGradDims(call);
  const int64_t read = call.operands[0].num_elements() + call.operands[1].num_elements();
  return PrecisionOf(call.attrs) == Precision::kF32 &&
         HasDirectKernel(ConvKind::kFilterGrad, d, call) &&
         d.MultiplyAdds(static_cast<double>(d.n)) >= kWorthParts &&
         groups * call.results[0].num_elements() <= read / 2;
}

const OpDef& Conv2dFilterGradOp() {
  static const OpDef& op = *new OpDef{
      .name = "conv2d_filter_grad",
      .doc =
          "x (N, H, W, C), dy (N, OH, OW, F) -> the kernel's gradient of `kernel_dims` (KH, KW, "
          "C/groups, F), summed image after image. With batch_dims=1 x, dy and the result have a "
          "first dimension, and each of its entries has a gradient of its own; that has no "
          "gradient.",
      .min_operands = 2,
      .max_operands = 2,
      .attrs = FilterGradAttrs(),
      .refine_flags =
          [](const OpCall& call, OpFlags& flags) {
            RoundsBothAtDefault(call, flags);
            const bool of_entries = call.attrs.Int(kBatchDims) > 0;
            flags.unit = of_entries ? WorkUnit::kRows : FilterGradUnit(call);
            if (of_entries) flags.row_operands = kAllOperands;
          },
      .infer_shape = FilterGradShape,
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dk) {
            const Value x = node.inputs[0], dy = node.inputs[1];
            if (node.attrs.Int(kBatchDims) > 0) {
              const Value none = b.Fail(absl::InvalidArgumentError(
                  absl::StrCat("the loss depends on a variable through conv2d_filter_grad \"",
                               node.name, "\", which has no gradient with batch_dims")));
              return std::vector<Value>{none, none};
            }
            return std::vector<Value>{InputGrad(b, dy, dk[0], x, node.attrs),
                                      Forward(b, x, dk[0], node.attrs)};
          },
      .reference = FilterGradReference,
      .kernels = OfEntries(WritingF32(ConvKernels(ConvKind::kFilterGrad, FilterGradDims))),
      .cost = [](const OpCall& call, Cost& cost) { SetProducts(FilterGradDims(call), call, cost); },
      .tpu =
          [](const OpCall& call) {
            return ConvolutionOnTpu(call, FilterGradDims(call), ConvKind::kFilterGrad);
          },
      .rules = {.splits_k = SplitsFilterGrad}};
  return op;
}

}  // namespace

std::vector<const OpDef*> ConvolutionOps() {
  return {&Conv2dOp(), &Conv2dInputGradOp(), &Conv2dFilterGradOp()};
}

Value Conv2d(GraphBuilder& b, Value x, Value kernel, std::vector<int64_t> strides,
             std::vector<int64_t> pads, Precision precision,
             const std::vector<int64_t>& dilations) {
  Attrs attrs = {{"precision", static_cast<int64_t>(precision)},
                 {"strides", std::move(strides)},
                 {"pads", std::move(pads)}};
  if (dilations != std::vector<int64_t>{1, 1}) attrs.Set(kDilations, dilations);
  return Forward(b, x, kernel, attrs);
}

Value Conv2dTranspose(GraphBuilder& b, Value x, Value kernel, const std::vector<int64_t>& image,
                      std::vector<int64_t> strides, std::vector<int64_t> pads, Precision precision,
                      int64_t groups) {
  const std::vector<int64_t> dims = {b.shape(x).dims[0], image[0], image[1],
                                     b.shape(kernel).dims[2] * groups};
  return b.Add(Conv2dInputGradOp(), {x, kernel},
               {{"precision", static_cast<int64_t>(precision)},
                {"strides", std::move(strides)},
                {"pads", std::move(pads)},
                {"x_dims", dims}},
               "conv2d_transpose");
}

}  // namespace tpurun
