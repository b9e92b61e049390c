// Layers that convolve.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "models/layers/window.h"
#include "runtime/base/text.h"

namespace tpurun {

// ---- conv2d (tf.layers.conv2d): x (N, H, W, C), kernel (KH, KW, C / groups, F), bias (F):
// y = f(x * kernel + bias), (N, OH, OW, F).

void CheckConv2d(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Conv2d& conv2d = layer.conv2d();
  if (!conv2d.has_filters()) {
    errors.Add("conv2d.filters", "filters is missing");
  } else if (conv2d.filters() <= 0) {
    errors.Add("conv2d.filters", absl::StrCat("filters must be > 0, got ", conv2d.filters()));
  }
  if (conv2d.kernel_size().empty()) errors.Add("conv2d.kernel_size", "kernel_size is missing");
  CheckWindowSizes(conv2d.kernel_size(), "conv2d.kernel_size", errors);
  CheckWindowSizes(conv2d.strides(), "conv2d.strides", errors);
  CheckWindowSizes(conv2d.dilation_rate(), "conv2d.dilation_rate", errors);
  if (conv2d.groups() <= 0) {
    errors.Add("conv2d.groups", absl::StrCat("groups must be > 0, got ", conv2d.groups()));
  } else if (conv2d.filters() > 0 && conv2d.filters() % conv2d.groups() != 0) {
    errors.Add("conv2d.groups", absl::StrCat("groups must divide the ", conv2d.filters(),
                                             " filters, got ", conv2d.groups()));
  }
  CheckActivation(conv2d.activation(), "conv2d.activation", errors);
  if (conv2d.has_kernel_initializer()) {
    CheckInitializer(conv2d.kernel_initializer(), "conv2d.kernel_initializer", errors);
  }
  if (conv2d.has_bias_initializer()) {
    CheckInitializer(conv2d.bias_initializer(), "conv2d.bias_initializer", errors);
  }
}

Value BuildConv2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const proto::Conv2d& conv2d = layer.layer.conv2d();
  const std::vector<int64_t> dilations = TwoSizes(conv2d.dilation_rate(), {1, 1});
  const Window window = WindowOver(layer, "conv2d.kernel_size", TwoSizes(conv2d.kernel_size(), {}),
                                   TwoSizes(conv2d.strides(), {1, 1}), conv2d.padding(), dilations);
  if (window.size.empty()) return {};
  const int64_t channels = layer.shape(0).dims.back();
  if (channels % conv2d.groups() != 0) {
    return layer.Fail("conv2d.groups",
                      absl::StrCat("groups must divide the ", channels, " input channels of ",
                                   Quote(layer.inputs[0].name), ", got ", conv2d.groups()));
  }
  GraphBuilder& b = layer.b;
  const std::vector<int64_t> kernel_dims = {window.size[0], window.size[1],
                                            channels / conv2d.groups(), conv2d.filters()};
  const Value kernel = layer.AddVariable(
      "kernel", kernel_dims,
      conv2d.has_kernel_initializer() ? MakeInitializer(conv2d.kernel_initializer(), kernel_dims)
                                      : GlorotUniform(kernel_dims));
  if (!kernel.valid()) return {};
  Value y = Conv2d(b, layer.inputs[0].value, kernel, window.strides, window.pads, layer.precision,
                   dilations);
  if (conv2d.use_bias()) {
    const Value bias =
        layer.AddVariable("bias", {conv2d.filters()},
                          conv2d.has_bias_initializer()
                              ? MakeInitializer(conv2d.bias_initializer(), {conv2d.filters()})
                              : Zeros());
    if (!bias.valid()) return {};
    y = BiasAdd(b, y, bias);
  }
  return ApplyActivation(b, y, conv2d.activation());
}

void WriteOutConv2d(proto::Layer& layer) {
  WriteOutSizes({}, layer.mutable_conv2d()->mutable_kernel_size());
  WriteOutSizes({1, 1}, layer.mutable_conv2d()->mutable_strides());
  // Where both are 1, as in checkpoints from before there was one, it is left out.
  WindowSizes& dilations = *layer.mutable_conv2d()->mutable_dilation_rate();
  WriteOutSizes({1, 1}, &dilations);
  if (dilations[0] == 1 && dilations[1] == 1) dilations.Clear();
}

}  // namespace tpurun
