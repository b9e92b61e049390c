// Layers that combine several inputs: add, multiply, subtract, average, maximum, minimum and
// concat.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "models/layers/families.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string Describe(const LayerContext& layer, int input) {
  return absl::StrCat(Quote(layer.inputs[input].name), " of ", BatchShapeText(layer.shape(input)));
}

// Gives dims of fewer dimensions, (N, D...), as many as `rank`: (N, 1, ..., 1, D...).
std::vector<int64_t> WithRank(std::vector<int64_t> dims, int64_t rank) {
  dims.insert(dims.begin() + 1, rank - static_cast<int64_t>(dims.size()), 1);
  return dims;
}

// Returns the shape that all inputs can be repeated to, as Keras' merge layers do: in each
// dimension the inputs have one size, or 1. Reports inputs that do not fit together.
std::optional<Shape> ShapeOfAll(LayerContext& layer) {
  const int inputs = static_cast<int>(layer.inputs.size());
  Shape all = layer.shape(0);
  const auto fail = [&](int other, int i, const std::string& want) {
    layer.Fail("", absl::StrCat("inputs of ", layer.kind, " must have ", want, ", got ",
                                Describe(layer, other), " and ", Describe(layer, i)));
    return std::nullopt;
  };
  for (int i = 1; i < inputs; ++i) {
    if (layer.shape(i) == all) continue;
    if (layer.shape(i).dtype != all.dtype) return fail(0, i, "one type");
    // Where a layer is built for one position, a missing dimension is none to repeat.
    if (layer.carries_state.value_or(false) && layer.shape(i).rank() != all.rank()) {
      return fail(0, i, "one number of dimensions");
    }
    const int64_t rank = std::max(all.rank(), layer.shape(i).rank());
    const std::vector<int64_t> dims = WithRank(layer.shape(i).dims, rank);
    all.dims = WithRank(all.dims, rank);
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (all.dims[axis] == 1) all.dims[axis] = dims[axis];
      if (dims[axis] != 1 && dims[axis] != all.dims[axis]) {
        int other = 0;  // that has the size
        while (WithRank(layer.shape(other).dims, rank)[axis] != all.dims[axis]) ++other;
        return fail(other, i, "one shape, but for dimensions of 1 and missing ones behind N");
      }
    }
  }
  for (int i = 0; i < inputs; ++i) {
    const Shape& shape = layer.shape(i);
    if (!layer.inputs[i].mask.valid() || shape == all) continue;
    if (shape.rank() == all.rank() && shape.dims[1] == all.dims[1]) continue;
    layer.Fail("", absl::StrCat(layer.kind, " would repeat ", Describe(layer, i),
                                ", whose positions have a mask; give this layer drop_mask: true"));
    return std::nullopt;
  }
  return all;
}

// One input after the other by `merge`.
template <typename Merge>
Value BuildMerged(LayerContext& layer, Merge merge) {
  const std::optional<Shape> all = ShapeOfAll(layer);
  if (!all.has_value()) return {};
  const auto repeated = [&](const LayerInput& input) {
    GraphBuilder& b = layer.b;
    const Shape& shape = b.shape(input.value);
    if (shape == *all) return input.value;
    const std::vector<int64_t> dims = WithRank(shape.dims, all->rank());
    return BroadcastTo(b, Reshape(b, input.value, dims), all->dims);
  };
  Value merged = repeated(layer.inputs[0]);
  for (size_t i = 1; i < layer.inputs.size(); ++i) {
    merged = merge(merged, repeated(layer.inputs[i]));
  }
  return merged;
}

}  // namespace

// ---- add (Keras Add): y = x_0 + x_1 + ..., in the shape of all.

Value BuildAdd(LayerContext& layer) {
  return BuildMerged(layer, [&](Value sum, Value x) { return Add(layer.b, sum, x); });
}

// ---- multiply (Keras Multiply): y = x_0 x_1 ..., in the shape of all.

Value BuildMultiply(LayerContext& layer) {
  return BuildMerged(layer, [&](Value product, Value x) { return Mul(layer.b, product, x); });
}

// ---- subtract (Keras Subtract): y = x_0 - x_1, in the shape of both.

Value BuildSubtract(LayerContext& layer) {
  return BuildMerged(layer, [&](Value left, Value x) { return Sub(layer.b, left, x); });
}

// ---- average (Keras Average): y = (x_0 + x_1 + ...) / their number, in the shape of all.

Value BuildAverage(LayerContext& layer) {
  const Value sum = BuildAdd(layer);
  if (!sum.valid()) return {};
  if (layer.b.shape(sum).dtype != DType::kF32) {
    return layer.Fail(
        "", absl::StrCat("average wants floating-point values (f32), got ", Describe(layer, 0)));
  }
  return Div(layer.b, sum, Scalar(layer.b, static_cast<double>(layer.inputs.size())));
}

// ---- maximum (Keras Maximum): y = max(x_0, x_1, ...), in the shape of all.

Value BuildMaximum(LayerContext& layer) {
  return BuildMerged(layer, [&](Value most, Value x) { return Maximum(layer.b, most, x); });
}

// ---- minimum (Keras Minimum): y = min(x_0, x_1, ...), in the shape of all.

Value BuildMinimum(LayerContext& layer) {
  return BuildMerged(layer, [&](Value least, Value x) { return Minimum(layer.b, least, x); });
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
