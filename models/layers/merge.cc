// Layers that combine several inputs: add, multiply and concat.
#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string Describe(const LayerContext& layer, int input) {
  return absl::StrCat(Quote(layer.inputs[input].name), " of ", BatchShapeText(layer.shape(input)));
}

// One input after the other, all of one shape, by `merge`.
template <typename Merge>
Value BuildMerged(LayerContext& layer, Merge merge) {
  Value merged = layer.inputs[0].value;
  for (int i = 1; i < static_cast<int>(layer.inputs.size()); ++i) {
    if (!(layer.shape(i) == layer.shape(0))) {
      return layer.Fail("", absl::StrCat("inputs of ", layer.kind, " must have one shape, got ",
                                         Describe(layer, 0), " and ", Describe(layer, i)));
    }
    merged = merge(merged, layer.inputs[i].value);
  }
  return merged;
}

}  // namespace

// ---- add (Keras Add): y = x_0 + x_1 + ..., all of one shape.

Value BuildAdd(LayerContext& layer) {
  return BuildMerged(layer, [&](Value sum, Value x) { return Add(layer.b, sum, x); });
}

// ---- multiply (Keras Multiply): y = x_0 x_1 ..., all of one shape.

Value BuildMultiply(LayerContext& layer) {
  return BuildMerged(layer, [&](Value product, Value x) { return Mul(layer.b, product, x); });
}

// ---- concat (tf.concat): x_i (N, ..., C_i, ...) -> (N, ..., sum C_i, ...). `axis` is an
// example's. A scalar per example, (N), goes in as one column, (N, 1).

Value BuildConcat(LayerContext& layer) {
  std::vector<Value> columns;
  for (const LayerInput& input : layer.inputs) {
    const Shape& shape = layer.b.shape(input.value);
    columns.push_back(shape.rank() == 1 ? Reshape(layer.b, input.value, {shape.dims[0], 1})
                                        : input.value);
  }
  const Shape first = layer.b.shape(columns[0]);
  const int64_t example_rank = first.rank() - 1;
  const int64_t given = layer.layer.concat().axis();
  const int64_t axis = given < 0 ? given + example_rank : given;
  if (axis < 0 || axis >= example_rank) {
    return layer.Fail("concat.axis",
                      absl::StrCat("axis must be in [", -example_rank, ", ", example_rank,
                                   ") for examples of rank ", example_rank, ", got ", given));
  }
  if (layer.carries_state.value_or(false) && axis != example_rank - 1) {
    return layer.Fail("concat.axis", "positions side by side are no position");
  }
  for (size_t i = 1; i < columns.size(); ++i) {
    Shape other = layer.b.shape(columns[i]);
    if (other.rank() == first.rank()) other.dims[axis + 1] = first.dims[axis + 1];
    if (!(other == first)) {
      return layer.Fail("", absl::StrCat("inputs of concat must have one dtype and the same shape "
                                         "but for axis ",
                                         axis, ", got ", Describe(layer, 0), " and ",
                                         Describe(layer, static_cast<int>(i))));
    }
  }
  return Concat(layer.b, columns, axis + 1);
}

}  // namespace tpurun
