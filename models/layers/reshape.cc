// Layers that select or rearrange values without changing them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "models/layers/window.h"
#include "proto/field_rules.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The numbers of the four edges, {top, bottom, left, right}, of one for all, one for each axis, or
// one for each edge; of an empty list `unset` each.
std::vector<int64_t> FourEdges(const WindowSizes& sizes, int64_t unset) {
  if (sizes.size() == 4) return {sizes.begin(), sizes.end()};
  const std::vector<int64_t> axes = TwoSizes(sizes, {unset, unset});
  return {axes[0], axes[0], axes[1], axes[1]};
}

void FillEdges(int64_t unset, WindowSizes* sizes) {
  const std::vector<int64_t> edges = FourEdges(*sizes, unset);
  *sizes = {edges.begin(), edges.end()};
}

// Reports a list of three edges, of which one would be without a number.
void CheckEdges(const WindowSizes& sizes, const std::string& field, ConfigErrors& errors) {
  if (sizes.size() != 3) return;
  errors.Add(field + "[0]", absl::StrCat("want one number, two (above and below, left and right) "
                                         "or four (above, below, left, right), got 3"));
}

int64_t Product(const std::vector<int64_t>& dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

}  // namespace

// ---- flatten (tf.layers.flatten): x (N, ...) -> (N, K); (N) -> (N, 1).

Value BuildFlatten(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  return Reshape(layer.b, layer.inputs[0].value, {x.dims[0], Product(ExampleDims(x))}, "flatten");
}

// ---- reshape (Keras Reshape): x (N, ...) -> (N, target_shape); one -1 is computed.

void CheckReshape(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Reshape& reshape = layer.reshape();
  int computed = 0;
  for (int i = 0; i < reshape.target_shape_size(); ++i) {
    const int64_t dim = reshape.target_shape(i);
    if (dim == -1) ++computed;
    if (dim == 0 || dim < -1 || dim > kMaxDimension) {
      errors.Add(absl::StrCat("reshape.target_shape[", i, "]"),
                 absl::StrCat("a dimension must be in [1, ", kMaxDimension,
                              "], or -1 for one of them, got ", dim));
    }
  }
  if (computed > 1) {
    errors.Add("reshape.target_shape[0]",
               absl::StrCat("only one dimension can be -1, got ", computed));
  }
}

Value BuildReshape(LayerContext& layer) {
  const Shape& x = layer.shape(0);
  const int64_t elements = Product(ExampleDims(x));
  std::vector<int64_t> dims = {x.dims[0]};
  int64_t known = 1;
  for (const int64_t dim : layer.layer.reshape().target_shape()) {
    dims.push_back(dim);
    if (dim > 0 && known <= elements) known *= dim;
  }
  for (int64_t& dim : dims) {
    if (dim == -1 && elements % known == 0) dim = elements / known;
  }
  std::vector<int64_t> target(dims.begin() + 1, dims.end());
  if (known > elements || Product(target) != elements) {
    return layer.Fail("reshape",
                      absl::StrCat("target_shape ",
                                   DimsToString({layer.layer.reshape().target_shape().begin(),
                                                 layer.layer.reshape().target_shape().end()}),
                                   " does not hold the ", elements, " values of an example of ",
                                   Quote(layer.inputs[0].name), ", ", BatchShapeText(x)));
  }
  return Reshape(layer.b, layer.inputs[0].value, dims);
}

// ---- permute (Keras Permute): x (N, ...), dimension i of the result is dimension dims[i] of x,
// both counted from 1 behind the batch.

void CheckPermute(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Permute& permute = layer.permute();
  std::vector<int64_t> dims(permute.dims().begin(), permute.dims().end());
  std::sort(dims.begin(), dims.end());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == static_cast<int64_t>(i) + 1) continue;
    errors.Add("permute.dims[0]",
               absl::StrCat("dims must be 1 to ", dims.size(), ", each once, in any order, got ",
                            DimsToString({permute.dims().begin(), permute.dims().end()})));
    return;
  }
}

Value BuildPermute(LayerContext& layer) {
  const proto::Permute& permute = layer.layer.permute();
  const Shape& x = layer.shape(0);
  if (permute.dims_size() != x.rank() - 1) {
    return layer.Fail(
        "permute", absl::StrCat("dims must name the ", x.rank() - 1,
                                " dimensions of an example of ", Quote(layer.inputs[0].name), ", ",
                                BatchShapeText(x), ", got ", permute.dims_size()));
  }
  std::vector<int64_t> perm = {0};
  perm.insert(perm.end(), permute.dims().begin(), permute.dims().end());
  return Transpose(layer.b, layer.inputs[0].value, perm);
}

// ---- slice (tf.slice): x (N, ...) -> (N, size): of each dimension of an example `size` entries
// from `begin` on; a size of -1 is all that are left.

void CheckSlice(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Slice& slice = layer.slice();
  for (int i = 0; i < slice.size_size(); ++i) {
    if (slice.size(i) < -1 || slice.size(i) == 0) {
      errors.Add(
          absl::StrCat("slice.size[", i, "]"),
          absl::StrCat("size must be > 0, or -1 for all that are left, got ", slice.size(i)));
    }
  }
}

Value BuildSlice(LayerContext& layer) {
  const proto::Slice& slice = layer.layer.slice();
  const Shape& x = layer.shape(0);
  const std::string input = absl::StrCat(Quote(layer.inputs[0].name), ", ", BatchShapeText(x));
  if (slice.begin_size() != x.rank() - 1 || slice.size_size() != x.rank() - 1) {
    return layer.Fail(
        "slice", absl::StrCat("begin and size must have one number for each of the ", x.rank() - 1,
                              " dimensions of an example of ", input, ", got ", slice.begin_size(),
                              " and ", slice.size_size()));
  }
  std::vector<int64_t> begin = {0}, size = {x.dims[0]};
  for (int i = 0; i < slice.begin_size(); ++i) {
    const int64_t left = x.dims[i + 1] - slice.begin(i);  // both are >= 0
    begin.push_back(slice.begin(i));
    size.push_back(slice.size(i) < 0 ? left : slice.size(i));
    if (size.back() > left || left < 1) {
      return layer.Fail(absl::StrCat("slice.begin[", i, "]"),
                        absl::StrCat("begin ", slice.begin(i), " with size ", slice.size(i),
                                     " is not inside dimension ", i, " of an example of ", input));
    }
  }
  return Slice(layer.b, layer.inputs[0].value, begin, size);
}

// ---- zero_padding1d (Keras ZeroPadding1D): x (N, T, C) -> (N, T + padding, C).

Value BuildZeroPadding1d(LayerContext& layer) {
  if (!IsSequence(layer)) return {};
  const std::vector<int64_t> around = TwoSizes(layer.layer.zero_padding1d().padding(), {1, 1});
  return Pad(layer.b, layer.inputs[0].value, {0, around[0], 0}, {0, around[1], 0});
}

void CanonicalizeZeroPadding1d(proto::Layer& layer) {
  FillSizes({1, 1}, layer.mutable_zero_padding1d()->mutable_padding());
}

// ---- cropping1d (Keras Cropping1D): x (N, T, C) -> (N, T - cropping, C).

Value BuildCropping1d(LayerContext& layer) {
  if (!IsSequence(layer)) return {};
  const std::vector<int64_t> x = layer.shape(0).dims;
  const std::vector<int64_t> crop = TwoSizes(layer.layer.cropping1d().cropping(), {1, 1});
  const int64_t left = x[1] - crop[0] - crop[1];
  if (left < 1) {
    return layer.Fail(
        "cropping1d.cropping",
        absl::StrCat("cropping must leave a position of ", Quote(layer.inputs[0].name), " of ",
                     BatchShapeText(layer.shape(0)), ", got ", crop[0], " and ", crop[1]));
  }
  return Slice(layer.b, layer.inputs[0].value, {0, crop[0], 0}, {x[0], left, x[2]});
}

void CanonicalizeCropping1d(proto::Layer& layer) {
  FillSizes({1, 1}, layer.mutable_cropping1d()->mutable_cropping());
}

// ---- zero_padding2d (Keras ZeroPadding2D): x (N, H, W, C) -> (N, H + padding, W + padding, C).

void CheckZeroPadding2d(const proto::Layer& layer, ConfigErrors& errors) {
  CheckEdges(layer.zero_padding2d().padding(), "zero_padding2d.padding", errors);
}

Value BuildZeroPadding2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const std::vector<int64_t> edges = FourEdges(layer.layer.zero_padding2d().padding(), 1);
  return Pad(layer.b, layer.inputs[0].value, {0, edges[0], edges[2], 0},
             {0, edges[1], edges[3], 0});
}

void CanonicalizeZeroPadding2d(proto::Layer& layer) {
  FillEdges(1, layer.mutable_zero_padding2d()->mutable_padding());
}

// ---- cropping2d (Keras Cropping2D): x (N, H, W, C) -> (N, H - cropping, W - cropping, C).

void CheckCropping2d(const proto::Layer& layer, ConfigErrors& errors) {
  CheckEdges(layer.cropping2d().cropping(), "cropping2d.cropping", errors);
}

Value BuildCropping2d(LayerContext& layer) {
  if (!IsImage(layer)) return {};
  const std::vector<int64_t> x = layer.shape(0).dims;
  const std::vector<int64_t> edges = FourEdges(layer.layer.cropping2d().cropping(), 0);
  const int64_t height = x[1] - edges[0] - edges[1], width = x[2] - edges[2] - edges[3];
  if (height < 1 || width < 1) {
    return layer.Fail(
        "cropping2d.cropping",
        absl::StrCat("cropping must leave a pixel of ", Quote(layer.inputs[0].name), " of ",
                     BatchShapeText(layer.shape(0)), ", got ", DimsToString(edges)));
  }
  return Slice(layer.b, layer.inputs[0].value, {0, edges[0], edges[2], 0},
               {x[0], height, width, x[3]});
}

void CanonicalizeCropping2d(proto::Layer& layer) {
  FillEdges(0, layer.mutable_cropping2d()->mutable_cropping());
}

}  // namespace tpurun
