// Convolution layers: conv1d, conv2d, conv2d_transpose, depthwise_conv2d and separable_conv2d.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "models/layers/window.h"
#include "proto/field_rules.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// What all kinds of message have; `kind` is the layer's.
template <typename Conv>
void CheckConv(const Conv& conv, int kernel_rank, const std::string& kind, ConfigErrors& errors) {
  if (conv.has_kernel_initializer()) {
    CheckInitializer(conv.kernel_initializer(), kernel_rank, kind + ".kernel_initializer", errors);
  }
  if (conv.has_bias_initializer()) {
    CheckInitializer(conv.bias_initializer(), 1, kind + ".bias_initializer", errors);
  }
}

template <typename Conv>
void CheckFilterGroups(const Conv& conv, const std::string& kind, ConfigErrors& errors) {
  if (conv.filters() > 0 && conv.groups() > 0 && conv.filters() % conv.groups() != 0) {
    errors.Add(kind + ".groups", absl::StrCat("groups must divide the ", conv.filters(),
                                              " filters, got ", conv.groups()));
  }
}

// True if the groups divide the channels of input 0. Reports it otherwise.
bool GroupsFit(LayerContext& layer, int64_t groups) {
  const int64_t channels = layer.shape(0).dims.back();
  if (channels % groups == 0) return true;
  layer.Fail(layer.kind + ".groups",
             absl::StrCat("groups must divide the ", channels, " input channels of ",
                          Quote(layer.inputs[0].name), ", got ", groups));
  return false;
}

// A kernel; `given` are its initial values as written, or nullptr.
Value AddKernelVariable(LayerContext& layer, const std::string& suffix,
                        const std::vector<int64_t>& dims, const proto::Initializer* given) {
  return layer.AddVariable(suffix, dims,
                           given != nullptr ? MakeInitializer(*given, dims) : GlorotUniform(dims));
}

template <typename Conv>
Value AddKernel(LayerContext& layer, const Conv& conv, const std::vector<int64_t>& dims) {
  return AddKernelVariable(layer, "kernel", dims,
                           conv.has_kernel_initializer() ? &conv.kernel_initializer() : nullptr);
}

// f(y + bias).
template <typename Conv>
Value AddBias(LayerContext& layer, const Conv& conv, Value y) {
  if (conv.use_bias()) {
    const std::vector<int64_t> dims = {layer.b.shape(y).dims.back()};
    const Value bias = layer.AddVariable(
        "bias", dims,
        conv.has_bias_initializer() ? MakeInitializer(conv.bias_initializer(), dims) : Zeros());
    if (!bias.valid()) return {};
    y = BiasAdd(layer.b, y, bias);
  }
  return ApplyActivation(layer.b, y, conv.activation());
}

template <typename Conv>
void CanonicalizeConv(Conv& conv) {
  FillSizes({}, conv.mutable_kernel_size());
  FillSizes({1, 1}, conv.mutable_strides());
}

// The window of a conv2d or a depthwise convolution; empty after a mistake.
template <typename Conv>
Window ConvWindow(LayerContext& layer, const Conv& conv) {
  return WindowOver(layer, layer.kind + ".kernel_size", TwoSizes(conv.kernel_size(), {}),
                    TwoSizes(conv.strides(), {1, 1}), static_cast<Padding>(conv.padding()),
                    TwoSizes(conv.dilation_rate(), {1, 1}));
}

// x (N, H, W, C), depthwise_kernel (KH, KW, C, M) -> (N, OH, OW, C M); channel c of x makes those
// from c M on. Invalid after a reported mistake.
template <typename Conv>
Value ConvolveDepthwise(LayerContext& layer, const Conv& conv) {
  if (!IsImage(layer)) return {};
  const Window window = ConvWindow(layer, conv);
  if (window.size.empty()) return {};
  const int64_t channels = layer.shape(0).dims.back(), multiplier = conv.depth_multiplier();
  if (multiplier > kMaxDimension / channels) {
    return layer.Fail(
        layer.kind + ".depth_multiplier",
        absl::StrCat("the result would have ", channels, " x ", multiplier,
                     " channels, want at most ", kMaxDimension, "; make depth_multiplier smaller"));
  }
  const std::vector<int64_t> dims = {window.size[0], window.size[1], channels, multiplier};
  const Value kernel =
      AddKernelVariable(layer, "depthwise_kernel", dims,
                        conv.has_depthwise_initializer() ? &conv.depthwise_initializer() : nullptr);
  if (!kernel.valid()) return {};
  // As the kernel of a conv2d with a group for each channel.
  const Value grouped = Reshape(layer.b, kernel, {dims[0], dims[1], 1, channels * multiplier});
  return Conv2d(layer.b, layer.inputs[0].value, grouped, window.strides, window.pads,
                layer.precision, TwoSizes(conv.dilation_rate(), {1, 1}));
}

template <typename Conv>
void CheckDepthwise(const Conv& conv, const std::string& kind, ConfigErrors& errors) {
  if (conv.has_depthwise_initializer()) {
    CheckInitializer(conv.depthwise_initializer(), 4, kind + ".depthwise_initializer", errors);
  }
  if (conv.has_bias_initializer()) {
    CheckInitializer(conv.bias_initializer(), 1, kind + ".bias_initializer", errors);
  }
}

template <typename Conv>
void CanonicalizeDilated(Conv& conv) {
  CanonicalizeConv(conv);
  FillSizes({1, 1}, conv.mutable_dilation_rate());
}

}  // namespace

// ---- conv1d (tf.layers.conv1d): x (N, T, C), kernel (K, C / groups, F), bias (F):
// y = f(x * kernel + bias), (N, OT, F). It is the convolution of an image of one row.

void CheckConv1d(const proto::Layer& layer, ConfigErrors& errors) {
  CheckConv(layer.conv1d(), 3, "conv1d", errors);
  CheckFilterGroups(layer.conv1d(), "conv1d", errors);
}

Value BuildConv1d(LayerContext& layer) {
  if (!IsSequence(layer)) return {};
  const proto::Conv1d& conv1d = layer.layer.conv1d();
  const Window time =
      WindowOver(layer, "conv1d.kernel_size", {conv1d.kernel_size()}, {conv1d.strides()},
                 static_cast<Padding>(conv1d.padding()), {conv1d.dilation_rate()});
  if (time.size.empty() || !GroupsFit(layer, conv1d.groups())) return {};
  const int64_t channels = layer.shape(0).dims.back() / conv1d.groups();
  const Value kernel = AddKernel(layer, conv1d, {time.size[0], channels, conv1d.filters()});
  if (!kernel.valid()) return {};
  GraphBuilder& b = layer.b;
  const Window window = ImageWindow(time);
  const Value image_kernel =
      Reshape(b, kernel, {window.size[0], window.size[1], channels, conv1d.filters()});
  const Value y =
      AddBias(layer, conv1d,
              Conv2d(b, ImageOfSequence(b, layer.inputs[0].value), image_kernel, window.strides,
                     window.pads, layer.precision, {1, conv1d.dilation_rate()}));
  return SequenceOfImage(b, y);
}

// ---- conv2d (tf.layers.conv2d): x (N, H, W, C), kernel (KH, KW, C / groups, F), bias (F):
// y = f(x * kernel + bias), (N, OH, OW, F).

void CheckConv2d(const proto::Layer& layer, ConfigErrors& errors) {
  CheckConv(layer.conv2d(), 4, "conv2d", errors);
  CheckFilterGroups(layer.conv2d(), "conv2d", errors);
}

Value BuildConv2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const proto::Conv2d& conv2d = layer.layer.conv2d();
  const std::vector<int64_t> dilations = TwoSizes(conv2d.dilation_rate(), {1, 1});
  const Window window = ConvWindow(layer, conv2d);
  if (window.size.empty() || !GroupsFit(layer, conv2d.groups())) return {};
  const int64_t channels = layer.shape(0).dims.back();
  const Value kernel =
      AddKernel(layer, conv2d,
                {window.size[0], window.size[1], channels / conv2d.groups(), conv2d.filters()});
  if (!kernel.valid()) return {};
  return AddBias(layer, conv2d,
                 Conv2d(layer.b, layer.inputs[0].value, kernel, window.strides, window.pads,
                        layer.precision, dilations));
}

void CanonicalizeConv2d(proto::Layer& layer) {
  CanonicalizeDilated(*layer.mutable_conv2d());
  // Where both are 1, as in checkpoints from before there was one, it is left out.
  WindowSizes& dilations = *layer.mutable_conv2d()->mutable_dilation_rate();
  if (dilations[0] == 1 && dilations[1] == 1) dilations.Clear();
}

// ---- conv2d_transpose (tf.layers.conv2d_transpose): x (N, OH, OW, C), kernel (KH, KW, F, C),
// bias (F): y = f(the gradient of a convolution by its input + bias), (N, H, W, F). H is
// OH stride, and with VALID max(KH - stride, 0) more.

void CheckConv2dTranspose(const proto::Layer& layer, ConfigErrors& errors) {
  CheckConv(layer.conv2d_transpose(), 4, "conv2d_transpose", errors);
}

Value BuildConv2dTranspose(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const proto::Conv2dTranspose& conv = layer.layer.conv2d_transpose();
  const std::vector<int64_t> size = TwoSizes(conv.kernel_size(), {}),
                             strides = TwoSizes(conv.strides(), {1, 1}), x = layer.shape(0).dims;
  std::vector<int64_t> image, pads;
  for (int i = 0; i < 2; ++i) {
    const bool same = conv.padding() == proto::Conv2d::SAME;
    const int64_t more = same ? 0 : std::max<int64_t>(size[i] - strides[i], 0);
    image.push_back(x[i + 1] * strides[i] + more);
    if (image[i] > kMaxDimension) {
      return layer.Fail("conv2d_transpose.strides",
                        absl::StrCat("the result would be ", image[i], i == 0 ? " high" : " wide",
                                     ", want at most ", kMaxDimension, "; make strides smaller"));
    }
    const std::vector<int64_t> around =
        same ? SamePads(image[i], size[i], strides[i]) : std::vector<int64_t>{0, 0};
    pads.insert(pads.end(), around.begin(), around.end());
  }
  const Value kernel = AddKernel(layer, conv, {size[0], size[1], conv.filters(), x.back()});
  if (!kernel.valid()) return {};
  return AddBias(layer, conv,
                 Conv2dTranspose(layer.b, layer.inputs[0].value, kernel, image, strides, pads,
                                 layer.precision));
}

void CanonicalizeConv2dTranspose(proto::Layer& layer) {
  CanonicalizeConv(*layer.mutable_conv2d_transpose());
}

// ---- depthwise_conv2d (Keras DepthwiseConv2D): x (N, H, W, C), depthwise_kernel (KH, KW, C, M),
// bias (C M): y = f(x * kernel + bias), (N, OH, OW, C M).

void CheckDepthwiseConv2d(const proto::Layer& layer, ConfigErrors& errors) {
  CheckDepthwise(layer.depthwise_conv2d(), "depthwise_conv2d", errors);
}

Value BuildDepthwiseConv2d(LayerContext& layer) {
  const proto::DepthwiseConv2d& conv = layer.layer.depthwise_conv2d();
  const Value y = ConvolveDepthwise(layer, conv);
  return y.valid() ? AddBias(layer, conv, y) : y;
}

void CanonicalizeDepthwiseConv2d(proto::Layer& layer) {
  CanonicalizeDilated(*layer.mutable_depthwise_conv2d());
}

// ---- separable_conv2d (tf.layers.separable_conv2d): x (N, H, W, C), depthwise_kernel
// (KH, KW, C, M), pointwise_kernel (1, 1, C M, F), bias (F):
// y = f(x * depthwise_kernel * pointwise_kernel + bias), (N, OH, OW, F).

void CheckSeparableConv2d(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::SeparableConv2d& conv = layer.separable_conv2d();
  CheckDepthwise(conv, "separable_conv2d", errors);
  if (conv.has_pointwise_initializer()) {
    CheckInitializer(conv.pointwise_initializer(), 4, "separable_conv2d.pointwise_initializer",
                     errors);
  }
}

Value BuildSeparableConv2d(LayerContext& layer) {
  const proto::SeparableConv2d& conv = layer.layer.separable_conv2d();
  const Value depthwise = ConvolveDepthwise(layer, conv);
  if (!depthwise.valid()) return {};
  const Value kernel = AddKernelVariable(
      layer, "pointwise_kernel", {1, 1, layer.b.shape(depthwise).dims.back(), conv.filters()},
      conv.has_pointwise_initializer() ? &conv.pointwise_initializer() : nullptr);
  if (!kernel.valid()) return {};
  return AddBias(layer, conv,
                 Conv2d(layer.b, depthwise, kernel, {1, 1}, {0, 0, 0, 0}, layer.precision));
}

void CanonicalizeSeparableConv2d(proto::Layer& layer) {
  CanonicalizeDilated(*layer.mutable_separable_conv2d());
}

}  // namespace tpurun
