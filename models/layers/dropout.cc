// The dropout layer, which draws random numbers in training.
#include <optional>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

// Returns the shape of a batch's draws. Reports a noise_shape that the input does not have.
std::optional<Shape> NoiseShape(LayerContext& layer) {
  const auto& given = layer.layer.dropout().noise_shape();
  const Shape x = layer.shape(0);
  Shape noise = x;
  if (given.empty()) return noise;
  bool fits = given.size() == x.rank() - 1;
  for (int i = 0; fits && i < given.size(); ++i) {
    const int64_t dim = x.dims[i + 1];
    fits = given[i] == -1 || given[i] == 1 || given[i] == dim;
    noise.dims[i + 1] = given[i] == -1 ? dim : given[i];
  }
  if (fits) return noise;
  layer.Fail("dropout.noise_shape",
             absl::StrCat("want for each of the ", x.rank() - 1, " dimensions of an example of ",
                          Quote(layer.inputs[0].name), ", ", BatchShapeText(x),
                          ", its size, -1 or 1, got ", DimsToString({given.begin(), given.end()})));
  return std::nullopt;
}

}  // namespace

// ---- dropout (tf.layers.dropout): y = x / (1 - rate) with probability 1 - rate, else 0; x itself
// outside of training. Draws are those of the seed, the layer's name, the global step and the core:
// one for each value of noise_shape, or of x.

Value BuildDropout(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  const float rate = layer.layer.dropout().rate();
  if (x.dtype != DType::kF32) {
    return layer.Fail("", absl::StrCat("dropout wants floating-point values (f32), got ",
                                       Quote(layer.inputs[0].name), " of ", BatchShapeText(x),
                                       "; declare it FLOAT32 or cast it in the input"));
  }
  if (!layer.training) return layer.inputs[0].value;
  const std::optional<Shape> noise = NoiseShape(layer);
  if (!noise.has_value()) return {};
  if (rate == 0) return layer.inputs[0].value;
  GraphBuilder& b = layer.b;
  const Value step = b.Read(GlobalStep(b));
  const auto drop = [&](Value of) {
    return Dropout(b, of, step, rate, layer.seed, StreamOf(layer.name));
  };
  if (*noise == x) return drop(layer.inputs[0].value);
  const Value factors = drop(Constant(b, DType::kF32, noise->dims, 1));
  return Mul(b, layer.inputs[0].value, BroadcastTo(b, factors, x.dims));
}

}  // namespace tpurun
