// Layers that repeat places of a sequence or an image, or interpolate between them.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "models/layers/window.h"
#include "proto/field_rules.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The kernel that interpolates has nearly twice as many rows and columns.
constexpr int64_t kMostBilinear = 64;

// True if `size` times as many places can be on each axis of an example. Reports them otherwise.
bool FitsTimes(LayerContext& layer, const std::vector<int64_t>& size) {
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t places = layer.shape(0).dims[i + 1];
    if (places <= kMaxDimension / size[i]) continue;
    layer.Fail(layer.kind + ".size",
               absl::StrCat("the result would have ", places, " x ", size[i],
                            " places, want at most ", kMaxDimension, "; make size smaller"));
    return false;
  }
  return true;
}

// Repeats each index of the axes from 1 on size[axis - 1] times.
Value Repeat(GraphBuilder& b, Value x, const std::vector<int64_t>& size) {
  const std::vector<int64_t> dims = b.shape(x).dims;
  const size_t repeated_axes = size.size();
  std::vector<int64_t> apart, axes, joined;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool repeats = axis >= 1 && axis <= repeated_axes;
    axes.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(dims[axis]);
    if (repeats) apart.push_back(size[axis - 1]);
    joined.push_back(repeats ? dims[axis] * size[axis - 1] : dims[axis]);
  }
  return Reshape(b, Broadcast(b, x, apart, axes), joined);
}

// How an axis is interpolated to `size` times as many places: place o of the result is at
// (o + 0.5) / size - 0.5 of x. x is repeated once at both ends, and each of its places adds to the
// results around it: a transposed convolution with a triangle.
struct Triangle {
  explicit Triangle(int64_t size) {
    if (size == 1) return;
    ends = 1;
    kernel.clear();
    const auto scale = static_cast<double>(size);
    for (int64_t place = -(size / 2); place + size / 2 < 2 * size - size % 2; ++place) {
      const double away = std::abs((static_cast<double>(place) + 0.5) / scale - 0.5);
      kernel.push_back(static_cast<float>(1 - away));
    }
    before = size + size / 2;
    behind = size + std::ssize(kernel) - before;
  }

  int64_t ends = 0;  // places that are added at each end
  std::vector<float> kernel = {1};
  int64_t before = 0, behind = 0;  // places of the convolution that the result lacks
};

// Repeats the first and the last place along `axis`.
Value WithEnds(GraphBuilder& b, Value x, int64_t axis) {
  const std::vector<int64_t> dims = b.shape(x).dims;
  const auto place = [&](int64_t begin) {
    std::vector<int64_t> from(dims.size(), 0), of = dims;
    from[axis] = begin;
    of[axis] = 1;
    return Slice(b, x, from, of);
  };
  return Concat(b, {place(0), x, place(dims[axis] - 1)}, axis);
}

// x (N, H, W, C) -> (N, H size[0], W size[1], C). Without roundings to bf16.
Value Interpolate(GraphBuilder& b, Value x, const std::vector<int64_t>& size) {
  const std::vector<int64_t> dims = b.shape(x).dims;
  const Triangle high(size[0]), wide(size[1]);
  if (high.ends > 0) x = WithEnds(b, x, 1);
  if (wide.ends > 0) x = WithEnds(b, x, 2);
  const auto rows = std::ssize(high.kernel), columns = std::ssize(wide.kernel);
  const std::vector<int64_t> of_kernel = {rows, columns, 1, dims[3]};
  const Value kernel = Mul(b, Broadcast(b, ConstantFloats(b, high.kernel, rows), of_kernel, {0}),
                           Broadcast(b, ConstantFloats(b, wide.kernel, columns), of_kernel, {1}));
  return Conv2dTranspose(b, x, kernel, {dims[1] * size[0], dims[2] * size[1]}, size,
                         {high.before, high.behind, wide.before, wide.behind}, Precision::kF32,
                         dims[3]);
}

}  // namespace

// ---- repeat_vector (Keras RepeatVector): x (N, C) -> (N, n, C).

Value BuildRepeatVector(LayerContext& layer) {
  const std::vector<int64_t> x = layer.shape(0).dims;
  if (x.size() != 2) {
    return layer.Fail(
        "", absl::StrCat("repeat_vector wants an input of shape [N,C], got ",
                         Quote(layer.inputs[0].name), " of ", BatchShapeText(layer.shape(0))));
  }
  const int64_t n = layer.layer.repeat_vector().n();
  return Broadcast(layer.b, layer.inputs[0].value, {x[0], n, x[1]}, {0, 2});
}

// ---- up_sampling1d (Keras UpSampling1D): x (N, T, C) -> (N, T size, C), each position size times.

Value BuildUpSampling1d(LayerContext& layer) {
  if (!IsSequence(layer)) return {};
  const std::vector<int64_t> size = {layer.layer.up_sampling1d().size()};
  if (!FitsTimes(layer, size)) return {};
  return Repeat(layer.b, layer.inputs[0].value, size);
}

// ---- up_sampling2d (Keras UpSampling2D): x (N, H, W, C) -> (N, H size[0], W size[1], C).

void CheckUpSampling2d(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::UpSampling2d& up = layer.up_sampling2d();
  if (up.interpolation() != proto::UpSampling2d::BILINEAR) return;
  for (int i = 0; i < up.size_size(); ++i) {
    if (up.size(i) <= kMostBilinear) continue;
    errors.Add(
        absl::StrCat("up_sampling2d.size[", i, "]"),
        absl::StrCat("size of BILINEAR must be at most ", kMostBilinear, ", got ", up.size(i)));
  }
}

Value BuildUpSampling2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const proto::UpSampling2d& up = layer.layer.up_sampling2d();
  const std::vector<int64_t> size = TwoSizes(up.size(), {2, 2});
  if (!FitsTimes(layer, size)) return {};
  const Value x = layer.inputs[0].value;
  if (up.interpolation() == proto::UpSampling2d::NEAREST) return Repeat(layer.b, x, size);
  return Interpolate(layer.b, x, size);
}

void CanonicalizeUpSampling2d(proto::Layer& layer) {
  FillSizes({2, 2}, layer.mutable_up_sampling2d()->mutable_size());
}

}  // namespace tpurun
