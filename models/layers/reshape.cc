// Layers that only change the shape.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

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
    if (dim == 0 || dim < -1 || dim > kMaxDim) {
      errors.Add(absl::StrCat("reshape.target_shape[", i, "]"),
                 absl::StrCat("a dimension must be in [1, ", kMaxDim,
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

}  // namespace tpurun
