// The dense layer, a matrix product with a kernel.
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

// ---- dense (tf.layers.dense): x (N, ..., K), kernel (K, U), bias (U):
// y = f(x kernel + bias), (N, ..., U). A kernel_from may come transposed, (U, K).

void CheckDense(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Dense& dense = layer.dense();
  if (dense.has_kernel_initializer()) {
    CheckInitializer(dense.kernel_initializer(), 2, "dense.kernel_initializer", errors);
  }
  if (dense.has_bias_initializer()) {
    CheckInitializer(dense.bias_initializer(), 1, "dense.bias_initializer", errors);
  }
}

Value BuildDense(LayerContext& layer) {
  const proto::Dense& dense = layer.layer.dense();
  const Shape x_shape = layer.shape(0);
  const std::string& input = layer.inputs[0].name;
  if (x_shape.dtype != DType::kF32) {
    return layer.Fail("", absl::StrCat("dense wants floating-point values (f32), got input ",
                                       Quote(input), " of ", BatchShapeText(x_shape),
                                       "; declare it FLOAT32 or cast it in the input"));
  }
  if (x_shape.rank() < 2) {
    return layer.Fail(
        "", absl::StrCat("dense wants an input of shape [N,K], got ", Quote(input), " of ",
                         BatchShapeText(x_shape), "; declare the feature with `shape: 1`"));
  }
  GraphBuilder& b = layer.b;
  const int64_t in = x_shape.dims.back();
  const bool transposed = dense.transpose_kernel();
  std::vector<int64_t> kernel_dims = {in, dense.units()};
  if (transposed) std::swap(kernel_dims[0], kernel_dims[1]);
  const Value kernel =
      dense.has_kernel_from()
          ? layer.ReadVariable("dense.kernel_from", dense.kernel_from(), kernel_dims)
          : layer.AddVariable("kernel", kernel_dims,
                              dense.has_kernel_initializer()
                                  ? MakeInitializer(dense.kernel_initializer(), kernel_dims)
                                  : GlorotUniform(kernel_dims));
  if (!kernel.valid()) return {};
  Value x = layer.inputs[0].value;
  const bool flattened = x_shape.rank() > 2;
  if (flattened) x = Reshape(b, x, {x_shape.num_elements() / in, in});
  Value y = MatMul(b, x, kernel, layer.precision, false, transposed);
  if (dense.use_bias()) {
    const Value bias = layer.AddVariable(
        "bias", {dense.units()},
        dense.has_bias_initializer() ? MakeInitializer(dense.bias_initializer(), {dense.units()})
                                     : Zeros());
    if (!bias.valid()) return {};
    y = BiasAdd(b, y, bias);
  }
  if (flattened) {
    std::vector<int64_t> dims = x_shape.dims;
    dims.back() = dense.units();
    y = Reshape(b, y, dims);
  }
  return ApplyActivation(b, y, dense.activation());
}

}  // namespace tpurun
