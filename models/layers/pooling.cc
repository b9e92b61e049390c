// Pooling layers over the pixels of an image.
#include "models/layers/families.h"
#include "models/layers/window.h"

namespace tpurun {
namespace {

Window PoolWindow(LayerContext& layer, const proto::Pool& pool) {
  const std::vector<int64_t> size = TwoSizes(pool.pool_size(), {2, 2});
  return WindowOver(layer, layer.kind + ".pool_size", size, TwoSizes(pool.strides(), size),
                    pool.padding());
}

void CanonicalizePool(proto::Pool& pool) {
  FillSizes({2, 2}, pool.mutable_pool_size());
  FillSizes({pool.pool_size(0), pool.pool_size(1)}, pool.mutable_strides());
}

}  // namespace

// ---- max_pooling2d (tf.layers.max_pooling2d): x (N, H, W, C) -> (N, OH, OW, C), the largest of
// each window. Padding never counts.

Value BuildMaxPooling2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const Window window = PoolWindow(layer, layer.layer.max_pooling2d());
  if (window.size.empty()) return {};
  return MaxPool(layer.b, layer.inputs[0].value, window.size, window.strides, window.pads);
}

void CanonicalizeMaxPooling2d(proto::Layer& layer) {
  CanonicalizePool(*layer.mutable_max_pooling2d());
}

// ---- average_pooling2d (tf.layers.average_pooling2d): x (N, H, W, C) -> (N, OH, OW, C), the mean
// of each window. Padding never counts.

Value BuildAveragePooling2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const Window window = PoolWindow(layer, layer.layer.average_pooling2d());
  if (window.size.empty()) return {};
  return AvgPool(layer.b, layer.inputs[0].value, window.size, window.strides, window.pads);
}

void CanonicalizeAveragePooling2d(proto::Layer& layer) {
  CanonicalizePool(*layer.mutable_average_pooling2d());
}

// ---- global_average_pooling2d (Keras GlobalAveragePooling2D): x (N, H, W, C) -> (N, C).

Value BuildGlobalAveragePooling2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  return ReduceMean(layer.b, layer.inputs[0].value, {1, 2});
}

}  // namespace tpurun
