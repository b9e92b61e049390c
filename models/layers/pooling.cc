// Pooling layers over the pixels of an image or the positions of a sequence.
#include <limits>

#include "models/layers/families.h"
#include "models/layers/window.h"

namespace tpurun {
namespace {

Window PoolWindow(LayerContext& layer, const proto::Pool& pool) {
  const std::vector<int64_t> size = TwoSizes(pool.pool_size(), {2, 2});
  return WindowOver(layer, layer.kind + ".pool_size", size, TwoSizes(pool.strides(), size),
                    static_cast<Padding>(pool.padding()));
}

using PoolOp = Value (*)(GraphBuilder& b, Value x, std::vector<int64_t> window,
                         std::vector<int64_t> strides, std::vector<int64_t> pads,
                         const std::string& label);

// x (N, H, W, C) -> (N, OH, OW, C).
Value PooledImage(LayerContext& layer, const proto::Pool& pool, PoolOp op,
                  const std::string& label) {
  if (!IsImage(layer)) return {};
  const Window window = PoolWindow(layer, pool);
  if (window.size.empty()) return {};
  return op(layer.b, layer.inputs[0].value, window.size, window.strides, window.pads, label);
}

// x (N, T, C) -> (N, OT, C).
Value PooledSequence(LayerContext& layer, const proto::Pool1d& pool, PoolOp op,
                     const std::string& label) {
  if (!IsSequence(layer)) return {};
  const int64_t strides = pool.has_strides() ? pool.strides() : pool.pool_size();
  const Window time = WindowOver(layer, layer.kind + ".pool_size", {pool.pool_size()}, {strides},
                                 static_cast<Padding>(pool.padding()));
  if (time.size.empty()) return {};
  const Window window = ImageWindow(time);
  return SequenceOfImage(layer.b, op(layer.b, ImageOfSequence(layer.b, layer.inputs[0].value),
                                     window.size, window.strides, window.pads, label));
}

void CanonicalizePool1d(proto::Pool1d& pool) {
  if (!pool.has_strides()) pool.set_strides(pool.pool_size());
}

// The mask (N, T) at every channel of x (N, T, C).
Value MaskOfChannels(LayerContext& layer) {
  return Broadcast(layer.b, layer.inputs[0].mask, layer.shape(0).dims, {0, 1});
}

void CanonicalizePool(proto::Pool& pool) {
  FillSizes({2, 2}, pool.mutable_pool_size());
  FillSizes({pool.pool_size(0), pool.pool_size(1)}, pool.mutable_strides());
}

}  // namespace

// ---- max_pooling2d (tf.layers.max_pooling2d): x (N, H, W, C) -> (N, OH, OW, C), the largest of
// each window. Padding never counts.

Value BuildMaxPooling2d(LayerContext& layer) {
  return PooledImage(layer, layer.layer.max_pooling2d(), MaxPool, "MaxPool");
}

void CanonicalizeMaxPooling2d(proto::Layer& layer) {
  CanonicalizePool(*layer.mutable_max_pooling2d());
}

// ---- average_pooling2d (tf.layers.average_pooling2d): x (N, H, W, C) -> (N, OH, OW, C), the mean
// of each window. Padding never counts.

Value BuildAveragePooling2d(LayerContext& layer) {
  return PooledImage(layer, layer.layer.average_pooling2d(), AvgPool, "AvgPool");
}

void CanonicalizeAveragePooling2d(proto::Layer& layer) {
  CanonicalizePool(*layer.mutable_average_pooling2d());
}

// ---- global_average_pooling2d (Keras GlobalAveragePooling2D): x (N, H, W, C) -> (N, C).

Value BuildGlobalAveragePooling2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  return ReduceMean(layer.b, layer.inputs[0].value, {1, 2});
}

// ---- global_max_pooling2d (Keras GlobalMaxPooling2D): x (N, H, W, C) -> (N, C).

Value BuildGlobalMaxPooling2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  return ReduceMax(layer.b, layer.inputs[0].value, {1, 2});
}

// ---- max_pooling1d (Keras MaxPooling1D): x (N, T, C) -> (N, OT, C), the largest of each window.
// Padding never counts.

Value BuildMaxPooling1d(LayerContext& layer) {
  return PooledSequence(layer, layer.layer.max_pooling1d(), MaxPool, "MaxPool");
}

void CanonicalizeMaxPooling1d(proto::Layer& layer) {
  CanonicalizePool1d(*layer.mutable_max_pooling1d());
}

// ---- average_pooling1d (Keras AveragePooling1D): x (N, T, C) -> (N, OT, C), the mean of each
// window. Padding never counts.

Value BuildAveragePooling1d(LayerContext& layer) {
  return PooledSequence(layer, layer.layer.average_pooling1d(), AvgPool, "AvgPool");
}

void CanonicalizeAveragePooling1d(proto::Layer& layer) {
  CanonicalizePool1d(*layer.mutable_average_pooling1d());
}

// ---- global_average_pooling1d (Keras GlobalAveragePooling1D): x (N, T, C) -> (N, C). With a mask:
// sum(x mask) / sum(mask), and 0 where the mask is 0 everywhere, for which Keras has 0 / 0.

Value BuildGlobalAveragePooling1d(LayerContext& layer) {
  if (!IsSequence(layer)) return {};
  GraphBuilder& b = layer.b;
  const Value x = layer.inputs[0].value, mask = layer.inputs[0].mask;
  if (!mask.valid()) return ReduceMean(b, x, {1});
  const Value sum = ReduceSum(b, Mul(b, x, MaskOfChannels(layer)), {1});
  const Value count = Maximum(b, ReduceSum(b, mask, {1}), Scalar(b, 1));
  return Div(b, sum, Broadcast(b, count, b.shape(sum).dims, {0}));
}

// ---- global_max_pooling1d (Keras GlobalMaxPooling1D): x (N, T, C) -> (N, C). With a mask: of the
// positions where it is not 0, and 0 where there are none.

Value BuildGlobalMaxPooling1d(LayerContext& layer) {
  if (!IsSequence(layer)) return {};
  GraphBuilder& b = layer.b;
  const Value x = layer.inputs[0].value, mask = layer.inputs[0].mask;
  if (!mask.valid()) return ReduceMax(b, x, {1});
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  const Value seen = Greater(b, MaskOfChannels(layer), Scalar(b, 0));
  const Value largest = ReduceMax(b, Select(b, seen, x, Scalar(b, kLowest)), {1});
  const Value any = Broadcast(b, ReduceMax(b, mask, {1}), b.shape(largest).dims, {0});
  return Select(b, Greater(b, any, Scalar(b, 0)), largest, Scalar(b, 0));
}

}  // namespace tpurun
