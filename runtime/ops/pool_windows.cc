#include "runtime/ops/pool_windows.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ir/elementwise.h"
#include "runtime/ops/export_window.h"

namespace tpurun {

PoolDims::PoolDims(const std::vector<int64_t>& x, const std::vector<int64_t>& y,
                   const Attrs& attrs) {
  const std::vector<int64_t> window = attrs.Ints("window"), strides = attrs.Ints("strides"),
                             pads = attrs.Ints("pads");
  h = x[1], w = x[2], c = x[3];
  oh = y[1], ow = y[2];
  ph = window[0], pw = window[1];
  sh = strides[0], sw = strides[1];
  top = pads[0], left = pads[2];
}

std::vector<AttrDef> PoolAttrs() {
  return {{"window", std::vector<int64_t>{}, true},
          {"strides", std::vector<int64_t>{}, true},
          {"pads", std::vector<int64_t>{}, true}};
}

std::vector<AttrDef> PoolGradAttrs() {
  std::vector<AttrDef> attrs = PoolAttrs();
  attrs.push_back({"x_dims", std::vector<int64_t>{}, true});
  return attrs;
}

Attrs PoolAttrsOf(std::vector<int64_t> window, std::vector<int64_t> strides,
                  std::vector<int64_t> pads) {
  return {
      {"window", std::move(window)}, {"strides", std::move(strides)}, {"pads", std::move(pads)}};
}

Attrs PoolGradAttrsOf(const GraphBuilder& b, const Node& pool) {
  Attrs attrs = pool.attrs;
  attrs.Set("x_dims", b.shape(pool.inputs[0]).dims);
  return attrs;
}

int64_t WindowElements(const Attrs& attrs) {
  const std::vector<int64_t> window = attrs.Ints("window");
  return window[0] * window[1];
}

absl::StatusOr<Shape> PooledShape(const char* op, DType dtype, const std::vector<int64_t>& x,
                                  const Attrs& attrs) {
  const std::vector<int64_t> window = attrs.Ints("window"), strides = attrs.Ints("strides"),
                             pads = attrs.Ints("pads");
  bool good = IsFloat(dtype) && x.size() == 4 && window.size() == 2 && strides.size() == 2 &&
              pads.size() == 4;
  for (size_t i = 0; good && i < 2; ++i) {
    // With a pad as wide as the window, there would be windows with only padding.
    good = window[i] >= 1 && strides[i] >= 1 && pads[2 * i] >= 0 && pads[2 * i + 1] >= 0 &&
           pads[2 * i] < window[i] && pads[2 * i + 1] < window[i] &&
           x[i + 1] + pads[2 * i] + pads[2 * i + 1] >= window[i];
  }
  if (!good) {
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": a window of ", DimsToString(window), ", strides ", DimsToString(strides), ", pads ",
        DimsToString(pads), " does not fit f32[N,H,W,C], got ", DimsToString(x)));
  }
  if (window[0] > std::numeric_limits<int32_t>::max() / window[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": a window of ", DimsToString(window), " has 2^31 elements or more"));
  }
  return Shape{dtype,
               {x[0], (x[1] + pads[0] + pads[1] - window[0]) / strides[0] + 1,
                (x[2] + pads[2] + pads[3] - window[1]) / strides[1] + 1, x[3]}};
}

ExportRule TensorFlowPool(std::string op) {
  return [op](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    const std::vector<int64_t> window = call.attrs.Ints("window");
    const std::vector<int64_t> strides = call.attrs.Ints("strides");
    ASSIGN_OR_RETURN(const std::string padding,
                     TensorFlowPadding(call.operands[0], window, strides, call.attrs.Ints("pads")));
    return std::vector<Value>{call.graph.Add(op, call.inputs,
                                             {{"T", call.type()},
                                              {"ksize", OverNhwc(window)},
                                              {"strides", OverNhwc(strides)},
                                              {"padding", padding}})};
  };
}

// Neither max pooling nor average pooling counts the padding.
ExportRule OnnxPool(std::string op) {
  return [op](ExportCall& call) -> absl::StatusOr<std::vector<Value>> {
    return std::vector<Value>{
        AddOverNchw(call, op, call.inputs, {{"kernel_shape", call.attrs.Ints("window")}})};
  };
}

}  // namespace tpurun
