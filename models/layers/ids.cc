// Layers that turn ids into vectors.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

// ---- one_hot (tf.one_hot): x (N, ...) whole -> (N, ..., depth) f32: 1 at the id, else 0; an id
// outside [0, depth) gives zeros only.

void CheckOneHot(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::OneHot& one_hot = layer.one_hot();
  if (!one_hot.has_depth()) {
    errors.Add("one_hot.depth", "depth is missing");
  } else if (one_hot.depth() <= 0 || one_hot.depth() > kMaxDim) {
    errors.Add("one_hot.depth",
               absl::StrCat("depth must be in [1, ", kMaxDim, "], got ", one_hot.depth()));
  }
}

Value BuildOneHot(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  if (x.dtype != DType::kS32 && x.dtype != DType::kS64) {
    return layer.Fail(
        "", absl::StrCat("one_hot wants ids, INT32 or INT64, got ", Quote(layer.inputs[0].name),
                         " of ", BatchShapeText(x), "; declare it INT32 or cast it in the input"));
  }
  return OneHot(layer.b, layer.inputs[0].value, layer.layer.one_hot().depth());
}

}  // namespace tpurun
