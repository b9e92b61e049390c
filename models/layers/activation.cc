// Element-wise activation layers.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

Value ApplyActivation(GraphBuilder& b, Value x, proto::Activation activation) {
  switch (activation) {
    case proto::RELU:
      return Relu(b, x);
    case proto::TANH:
      return Tanh(b, x);
    case proto::SIGMOID:
      return Sigmoid(b, x);
    case proto::SOFTMAX:
      return Softmax(b, x);
    case proto::SOFTPLUS:
      return Softplus(b, x);
    case proto::ELU:
      return Elu(b, x);
    case proto::GELU:
      return Gelu(b, x);
    case proto::GELU_TANH:
      return GeluTanh(b, x);
    case proto::LINEAR:
      break;
  }
  return x;
}

// ---- activation: y = f(x), y has the shape of x. SOFTMAX is over the last axis.

Value BuildActivation(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  if (x.dtype != DType::kF32) {
    return layer.Fail("", absl::StrCat("input ", Quote(layer.inputs[0].name), " is ",
                                       BatchShapeText(x), ", want floating-point values (f32)"));
  }
  const proto::Activation function = layer.layer.activation().function();
  if (function == proto::SOFTMAX && x.rank() < 2) {
    return layer.Fail("activation.function",
                      absl::StrCat("SOFTMAX wants an axis of classes, got ", BatchShapeText(x)));
  }
  return ApplyActivation(layer.b, layer.inputs[0].value, function);
}

}  // namespace tpurun
