// The dropout layer, which draws random numbers in training.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/spec/global_step.h"

namespace tpurun {

// ---- dropout (tf.layers.dropout): y = x / (1 - rate) with probability 1 - rate, else 0; x itself
// outside of training. Draws are those of the seed, the layer's name, the global step and the core.

Value BuildDropout(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  const float rate = layer.layer.dropout().rate();
  if (x.dtype != DType::kF32) {
    return layer.Fail("", absl::StrCat("dropout wants floating-point values (f32), got ",
                                       Quote(layer.inputs[0].name), " of ", BatchShapeText(x),
                                       "; declare it FLOAT32 or cast it in the input"));
  }
  if (!layer.training || rate == 0) return layer.inputs[0].value;
  const Value step = layer.b.Read(GlobalStep(layer.b));
  return Dropout(layer.b, layer.inputs[0].value, step, rate, layer.seed, StreamOf(layer.name));
}

}  // namespace tpurun
