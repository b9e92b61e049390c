// Batch, layer and group normalization.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"
#include "runtime/optimizers/replica_groups.h"

namespace tpurun {
namespace {

Value Ones(GraphBuilder& b, int64_t n) { return Constant(b, DType::kF32, {n}, 1); }

// moving = moving momentum + value (1 - momentum).
void UpdateMoving(LayerContext& layer, const std::string& suffix, Value value, double momentum) {
  GraphBuilder& b = layer.b;
  layer.Update(suffix, [&](Value moving) {
    return Sub(b, moving, Mul(b, Sub(b, moving, value), Scalar(b, 1 - momentum)));
  });
}

// Of the rows of a group's replicas, from those of each: mean(m), mean(v + m^2) - mean(m)^2.
std::pair<Value, Value> MomentsOfGroup(LayerContext& layer, Value mean, Value variance) {
  GraphBuilder& b = layer.b;
  const int num_replicas = b.graph().num_replicas();
  const std::vector<int64_t> groups =
      GroupsOf(layer.layer.batch_normalization().group_assignment(), num_replicas);
  const Value share = Scalar(b, 1.0 / GroupSize(groups, num_replicas));
  const Value of_group = Mul(b, CrossReplicaSum(b, mean, groups), share);
  const Value squares =
      Mul(b, CrossReplicaSum(b, Add(b, variance, Square(b, mean)), groups), share);
  return {of_group, Sub(b, squares, Square(b, of_group))};
}

// Reports an input that is not f32 (N, ..., C), and then returns false.
bool HasChannels(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  if (x.dtype == DType::kF32 && x.rank() >= 2) return true;
  layer.Fail("",
             absl::StrCat(layer.kind, " wants floating-point values (f32) of shape [N,...,C], got ",
                          Quote(layer.inputs[0].name), " of ", BatchShapeText(x)));
  return false;
}

template <typename Norm>
void CheckGammaAndBeta(const Norm& norm, const std::string& kind, ConfigErrors& errors) {
  if (norm.has_gamma_initializer())
    CheckInitializer(norm.gamma_initializer(), 1, kind + ".gamma_initializer", errors);
  if (norm.has_beta_initializer())
    CheckInitializer(norm.beta_initializer(), 1, kind + ".beta_initializer", errors);
}

// The variables of layer and group normalization, f32[C]; invalid after a reported mistake.
template <typename Norm>
Value AddGamma(LayerContext& layer, const Norm& norm) {
  const std::vector<int64_t> dims = {layer.shape(0).dims.back()};
  return layer.AddVariable("gamma", dims,
                           norm.has_gamma_initializer()
                               ? MakeInitializer(norm.gamma_initializer(), dims)
                               : Initializer{.a = 1});
}

template <typename Norm>
Value AddBeta(LayerContext& layer, const Norm& norm) {
  const std::vector<int64_t> dims = {layer.shape(0).dims.back()};
  return layer.AddVariable(
      "beta", dims,
      norm.has_beta_initializer() ? MakeInitializer(norm.beta_initializer(), dims) : Zeros());
}

}  // namespace

// ---- batch_normalization (tf.layers.batch_normalization): x (N, ..., C),
// y = (x - mean) gamma / sqrt(variance + epsilon) + beta with (C) each: in training of the rows,
// else, or with use_moving_statistics, the moving ones. Those of a group of cores are taken from
// each core's as in TensorFlow's TPU models (tpu_normalization.py). moving_variance takes the
// variance of rank 4 unbiased, times n / (n - 1), as TensorFlow's fused op does, but not that of a
// group.

void CheckBatchNormalization(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::BatchNormalization& norm = layer.batch_normalization();
  // Among themselves; the replicas there are come with the graph.
  CheckGroups(norm.group_assignment(), 1, "batch_normalization.group_assignment", errors);
  if (norm.has_gamma_initializer()) {
    CheckInitializer(norm.gamma_initializer(), 1, "batch_normalization.gamma_initializer", errors);
  }
}

Value BuildBatchNormalization(LayerContext& layer) {
  const proto::BatchNormalization& norm = layer.layer.batch_normalization();
  if (!HasChannels(layer)) return {};
  const Shape x_shape = layer.shape(0);
  GraphBuilder& b = layer.b;
  ConfigErrors wrong;
  CheckGroups(norm.group_assignment(), layer.grouped_replicas,
              "batch_normalization.group_assignment", wrong);
  if (!wrong.empty()) return layer.Fail(wrong.all()[0].path, wrong.all()[0].message);
  const Value x = layer.inputs[0].value;
  const int64_t channels = x_shape.dims.back();
  const std::vector<int64_t> dims = {channels};
  const Initializer ones = {.a = 1};
  const Value gamma = !norm.scale()
                          ? Ones(b, channels)
                          : layer.AddVariable("gamma", dims,
                                              norm.has_gamma_initializer()
                                                  ? MakeInitializer(norm.gamma_initializer(), dims)
                                                  : ones);
  if (!gamma.valid()) return {};
  const Value beta =
      norm.center() ? layer.AddVariable("beta", dims, Zeros()) : Constant(b, DType::kF32, dims, 0);
  Value mean = layer.AddStatistic("moving_mean", dims, Zeros());
  Value variance = layer.AddStatistic("moving_variance", dims, ones);
  if (!beta.valid() || !mean.valid() || !variance.valid()) return {};
  if (layer.training && !norm.use_moving_statistics()) {
    std::tie(mean, variance) = Moments(b, x);
    const bool grouped = !norm.group_assignment().empty() && b.graph().num_replicas() > 1;
    if (grouped) std::tie(mean, variance) = MomentsOfGroup(layer, mean, variance);
    const int64_t rows = x_shape.num_elements() / std::max<int64_t>(1, channels);
    const bool unbiased = x_shape.rank() == 4 && !grouped;
    const double correction =
        static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(1, rows - 1));
    UpdateMoving(layer, "moving_mean", mean, norm.momentum());
    UpdateMoving(layer, "moving_variance",
                 unbiased ? Mul(b, variance, Scalar(b, correction)) : variance, norm.momentum());
  }
  return BatchNorm(b, x, mean, variance, gamma, beta, norm.epsilon());
}

// ---- layer_normalization (Keras LayerNormalization): x (N, ..., C), y = (x - mean) gamma /
// sqrt(variance + epsilon) + beta, mean and variance of the last axis, gamma and beta (C).

void CheckLayerNormalization(const proto::Layer& layer, ConfigErrors& errors) {
  CheckGammaAndBeta(layer.layer_normalization(), "layer_normalization", errors);
}

Value BuildLayerNormalization(LayerContext& layer) {
  if (!HasChannels(layer)) return {};
  const proto::LayerNormalization& norm = layer.layer.layer_normalization();
  Value y = NormalizeRows(layer.b, layer.inputs[0].value, norm.epsilon());
  if (norm.scale()) {
    const Value gamma = AddGamma(layer, norm);
    if (!gamma.valid()) return {};
    y = Mul(layer.b, y, gamma);
  }
  if (norm.center()) {
    const Value beta = AddBeta(layer, norm);
    if (!beta.valid()) return {};
    y = Add(layer.b, y, beta);
  }
  return y;
}

// ---- group_normalization (Keras GroupNormalization; Wu and He, Group Normalization, 2018):
// x (N, ..., C), y = (x - mean) gamma / sqrt(variance + epsilon) + beta, mean and variance of the
// values of one example in C / groups channels, gamma and beta (C).

void CheckGroupNormalization(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::GroupNormalization& norm = layer.group_normalization();
  CheckGammaAndBeta(norm, "group_normalization", errors);
  if (norm.groups() == 0) {
    errors.Add("group_normalization.groups",
               "groups must be > 0, or -1 for as many as there are channels, got 0");
  }
}

Value BuildGroupNormalization(LayerContext& layer) {
  if (!HasChannels(layer)) return {};
  const proto::GroupNormalization& norm = layer.layer.group_normalization();
  GraphBuilder& b = layer.b;
  const Shape x_shape = layer.shape(0);
  const int64_t rows = x_shape.dims[0], channels = x_shape.dims.back();
  const int64_t groups = norm.groups() == -1 ? channels : norm.groups();
  if (channels % groups != 0) {
    return layer.Fail("group_normalization.groups",
                      absl::StrCat("groups must divide the ", channels, " channels of ",
                                   Quote(layer.inputs[0].name), ", got ", groups,
                                   norm.has_groups() ? "" : ", the default"));
  }
  const int64_t places = x_shape.num_elements() / std::max<int64_t>(1, rows * channels);
  const std::vector<int64_t> dims = {rows, places, channels}, of_rows = {rows, channels};
  const std::vector<int64_t> apart = {rows, groups, channels / groups};
  const Value x = Reshape(b, layer.inputs[0].value, dims);
  // The mean of each group, at each of its channels.
  const auto mean_of = [&](Value values) {
    const Value of_channels = ReduceMean(b, values, {1});
    const Value of_groups = ReduceMean(b, Reshape(b, of_channels, apart), {2});
    return Reshape(b, Broadcast(b, of_groups, apart, {0, 1}), of_rows);
  };
  const auto everywhere = [&](Value of_channels) {
    return Broadcast(b, of_channels, dims, {0, 2});
  };
  const Value centered = Sub(b, x, everywhere(mean_of(x)));
  const Value variance = mean_of(Square(b, centered));
  Value factor = Rsqrt(b, Add(b, variance, Scalar(b, norm.epsilon())));
  if (norm.scale()) {
    const Value gamma = AddGamma(layer, norm);
    if (!gamma.valid()) return {};
    factor = Mul(b, factor, gamma);
  }
  Value y = Mul(b, centered, everywhere(factor));
  if (norm.center()) {
    const Value beta = AddBeta(layer, norm);
    if (!beta.valid()) return {};
    y = Add(b, y, beta);
  }
  return Reshape(b, y, x_shape.dims);
}

}  // namespace tpurun
