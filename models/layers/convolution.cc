// Convolution layers: conv1d, conv2d and conv2d_transpose.
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

template <typename Conv>
Value AddKernel(LayerContext& layer, const Conv& conv, const std::vector<int64_t>& dims) {
  return layer.AddVariable("kernel", dims,
                           conv.has_kernel_initializer()
                               ? MakeInitializer(conv.kernel_initializer(), dims)
                               : GlorotUniform(dims));
}

// f(y + bias).
template <typename Conv>
Value AddBias(LayerContext& layer, const Conv& conv, Value y) {
  if (conv.use_bias()) {
    const Value bias = layer.AddVariable(
        "bias", {conv.filters()},
        conv.has_bias_initializer() ? MakeInitializer(conv.bias_initializer(), {conv.filters()})
                                    : Zeros());
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
  const Window window = WindowOver(layer, "conv2d.kernel_size", TwoSizes(conv2d.kernel_size(), {}),
                                   TwoSizes(conv2d.strides(), {1, 1}),
                                   static_cast<Padding>(conv2d.padding()), dilations);
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
  CanonicalizeConv(*layer.mutable_conv2d());
  // Where both are 1, as in checkpoints from before there was one, it is left out.
  WindowSizes& dilations = *layer.mutable_conv2d()->mutable_dilation_rate();
  FillSizes({1, 1}, &dilations);
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

}  // namespace tpurun
