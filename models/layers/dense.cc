// Layers that multiply by a kernel matrix.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {

// ---- dense (tf.layers.dense): x (N, ..., K), kernel (K, U), bias (U):
// y = f(x kernel + bias), (N, ..., U).

void CheckDense(const proto::Layer& layer, ConfigErrors& errors) {
  const proto::Dense& dense = layer.dense();
  if (!dense.has_units()) {
    errors.Add("dense.units", "units is missing");
  } else if (dense.units() <= 0) {
    errors.Add("dense.units", absl::StrCat("units must be > 0, got ", dense.units()));
  }
  CheckActivation(dense.activation(), "dense.activation", errors);
  if (dense.has_kernel_initializer()) {
    CheckInitializer(dense.kernel_initializer(), "dense.kernel_initializer", errors);
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
  const std::vector<int64_t> kernel_dims = {in, dense.units()};
  const Value kernel = layer.AddVariable(
      "kernel", kernel_dims,
      dense.has_kernel_initializer() ? MakeInitializer(dense.kernel_initializer(), kernel_dims)
                                     : GlorotUniform(kernel_dims));
  if (!kernel.valid()) return {};
  Value x = layer.inputs[0].value;
  const bool flattened = x_shape.rank() > 2;
  if (flattened) x = Reshape(b, x, {x_shape.num_elements() / in, in});
  Value y = MatMul(b, x, kernel, layer.precision);
  if (dense.use_bias()) {
    y = BiasAdd(b, y, layer.AddVariable("bias", {dense.units()}, Zeros()), layer.precision);
  }
  if (flattened) {
    std::vector<int64_t> dims = x_shape.dims;
    dims.back() = dense.units();
    y = Reshape(b, y, dims);
  }
  return ApplyActivation(b, y, dense.activation());
}

}  // namespace tpurun
