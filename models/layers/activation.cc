// Element-wise activation layers.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

namespace {

// Gradients where a function has a corner are those of TensorFlow: of tf.nn.relu6 0, of
// tf.nn.leaky_relu that of the lower side, of tf.nn.selu that of the upper one.
Value Relu6(GraphBuilder& b, Value x) {
  const Value most = Scalar(b, 6);
  return Select(b, GreaterEqual(b, x, most), most, Relu(b, x));
}

Value LeakyRelu(GraphBuilder& b, Value x, double alpha) {
  return Select(b, Greater(b, x, Scalar(b, 0)), x, Mul(b, x, Scalar(b, alpha)));
}

// Klambauer et al., Self-Normalizing Neural Networks, 2017.
Value Selu(GraphBuilder& b, Value x) {
  constexpr double kScale = 1.0507009873554804934193349852946;
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  return Select(b, GreaterEqual(b, x, Scalar(b, 0)), Mul(b, x, Scalar(b, kScale)),
                Mul(b, Elu(b, x), Scalar(b, kScale * kAlpha)));
}

// Its gradient is a difference of quotients, whose relative error grows to 5e-4 at |x| = 1e5, where
// it is 1e-10.
Value Softsign(GraphBuilder& b, Value x) {
  const Value size = Maximum(b, x, Neg(b, x));
  return Div(b, x, Add(b, size, Scalar(b, 1)));
}

}  // namespace

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
    case proto::RELU6:
      return Relu6(b, x);
    case proto::LEAKY_RELU:
      return LeakyRelu(b, x, 0.2);
    case proto::SELU:
      return Selu(b, x);
    case proto::SWISH:
      return Mul(b, x, Sigmoid(b, x));
    case proto::MISH:
      return Mul(b, x, Tanh(b, Softplus(b, x)));
    case proto::SOFTSIGN:
      return Softsign(b, x);
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
  if (function == proto::LEAKY_RELU) {
    return LeakyRelu(layer.b, layer.inputs[0].value, layer.layer.activation().alpha());
  }
  return ApplyActivation(layer.b, layer.inputs[0].value, function);
}

}  // namespace tpurun
