// Layers that contain other layers: sequence, residual and resnet_block.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

// ---- sequence: its layers in a scope NAME/; of several copies NAME_0/, NAME_1/ ...

void CheckSequence(const proto::Layer& layer, ConfigErrors& errors) {
  if (layer.sequence().layer().empty()) {
    errors.Add("sequence", "a sequence wants at least one layer");
  }
}

std::vector<LayerBlock> ExpandSequence(const proto::Layer& layer) {
  const int64_t copies = layer.sequence().repeat();
  return {{.field = "sequence.layer",
           .layers = WrittenLayers(layer.sequence().layer()),
           .copies = copies,
           .first_number = copies == 1 ? -1 : 0}};
}

// ---- residual: y = layers(x) + shortcut(x); without a shortcut layers(x) + x.

void CheckResidual(const proto::Layer& layer, ConfigErrors& errors) {
  if (layer.residual().layer().empty()) {
    errors.Add("residual", "a residual wants at least one layer");
  }
  if (layer.residual().shortcut().repeat() != 1) {
    errors.Add("residual.shortcut.repeat", "a shortcut cannot be repeated");
  }
}

std::vector<LayerBlock> ExpandResidual(const proto::Layer& layer) {
  const proto::Residual& residual = layer.residual();
  return {{.field = "residual.layer", .layers = WrittenLayers(residual.layer())},
          {.scope = "/shortcut",
           .field = "residual.shortcut.layer",
           .layers = WrittenLayers(residual.shortcut().layer())}};
}

Value BuildResidual(LayerContext& layer) {
  if (!(layer.shape(0) == layer.shape(1))) {
    return layer.Fail(
        "residual",
        absl::StrCat("layers give ", BatchShapeText(layer.shape(0)), ", the shortcut gives ",
                     BatchShapeText(layer.shape(1)), "; both must have one shape"));
  }
  return Add(layer.b, layer.inputs[0].value, layer.inputs[1].value);
}

// ---- resnet_block (ResNet v1.5, He et al. 2015 with the stride in the 3x3 convolution):
// y = relu(f(x) + shortcut(x)), f = conv 3x3, norm, relu, conv 3x3, norm, or as a bottleneck conv
// 1x1, norm, relu, conv 3x3, norm, relu, conv 1x1 of 4 filters, norm.

namespace {

void AddConv(int64_t filters, int64_t size, int64_t strides, Layers* layers) {
  proto::Conv2d& conv2d = *layers->Add()->mutable_conv2d();
  conv2d.set_filters(filters);
  conv2d.add_kernel_size(size);
  conv2d.add_strides(strides);
  conv2d.set_padding(proto::Conv2d::SAME);
  conv2d.set_activation(proto::LINEAR);
  conv2d.set_use_bias(false);
}

void AddNorm(Layers* layers) {
  proto::BatchNormalization& norm = *layers->Add()->mutable_batch_normalization();
  norm.set_center(true);
  norm.set_scale(true);
}

void AddRelu(Layers* layers) { layers->Add()->mutable_activation()->set_function(proto::RELU); }

std::shared_ptr<const Layers> BlockLayers(const proto::ResnetBlock& block, bool first) {
  const int64_t filters = block.filters(), strides = first ? block.strides() : 1;
  const auto layers = std::make_shared<Layers>();
  proto::Residual& residual = *layers->Add()->mutable_residual();
  Layers* const inner = residual.mutable_layer();
  if (block.bottleneck()) {
    AddConv(filters, 1, 1, inner);
    AddNorm(inner);
    AddRelu(inner);
  }
  AddConv(filters, 3, strides, inner);
  AddNorm(inner);
  AddRelu(inner);
  const int64_t out = block.bottleneck() ? 4 * filters : filters;
  AddConv(out, block.bottleneck() ? 1 : 3, 1, inner);
  AddNorm(inner);
  if (block.zero_init_residual()) {
    inner->rbegin()->mutable_batch_normalization()->mutable_gamma_initializer()->mutable_zeros();
  }
  if (first) {
    Layers* const shortcut = residual.mutable_shortcut()->mutable_layer();
    AddConv(out, 1, strides, shortcut);
    AddNorm(shortcut);
  }
  AddRelu(layers.get());
  return layers;
}

}  // namespace

std::vector<LayerBlock> ExpandResnetBlock(const proto::Layer& layer) {
  const proto::ResnetBlock& block = layer.resnet_block();
  if (block.repeat() == 1) return {{.layers = BlockLayers(block, true)}};
  return {{.layers = BlockLayers(block, true), .first_number = 0},
          {.layers = BlockLayers(block, false),
           .input = 0,
           .copies = block.repeat() - 1,
           .first_number = 1}};
}

}  // namespace tpurun
