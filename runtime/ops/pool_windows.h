// The windows of a pool, shared by max_pool, avg_pool and their gradients.
#ifndef TPURUN_RUNTIME_OPS_POOL_WINDOWS_H_
#define TPURUN_RUNTIME_OPS_POOL_WINDOWS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

struct PoolDims {
  int64_t h, w, c;    // x
  int64_t oh, ow;     // y
  int64_t ph, pw;     // window
  int64_t sh, sw;     // strides
  int64_t top, left;  // pads

  // x is (N, H, W, C), y is (N, OH, OW, C).
  PoolDims(const std::vector<int64_t>& x, const std::vector<int64_t>& y, const Attrs& attrs);
  int64_t x_elements() const { return h * w * c; }  // per image
  int64_t y_elements() const { return oh * ow * c; }
};

// A window on x, clipped to x: rows [h0, h1) and columns [w0, w1). `first` is the row-major index
// of its first element in the unclipped window, whose rows have pw elements.
struct ClippedWindow {
  int64_t h0, h1, w0, w1;
  int32_t first;

  int64_t elements() const { return (h1 - h0) * (w1 - w0); }
};

inline ClippedWindow WindowAt(const PoolDims& d, int64_t oh, int64_t ow) {
  const int64_t h = oh * d.sh - d.top, w = ow * d.sw - d.left;
  const int64_t h0 = std::max<int64_t>(h, 0), w0 = std::max<int64_t>(w, 0);
  return {h0, std::min(h + d.ph, d.h), w0, std::min(w + d.pw, d.w),
          static_cast<int32_t>((h0 - h) * d.pw + w0 - w)};
}

// window, strides: {height, width}; pads: {top, bottom, left, right}.
std::vector<AttrDef> PoolAttrs();
// PoolAttrs, and `x_dims` for a gradient.
std::vector<AttrDef> PoolGradAttrs();
Attrs PoolAttrsOf(std::vector<int64_t> window, std::vector<int64_t> strides,
                  std::vector<int64_t> pads);
// The attributes of the gradient of `pool`.
Attrs PoolGradAttrsOf(const GraphBuilder& b, const Node& pool);
// The number of elements of the whole window, including elements outside x.
int64_t WindowElements(const Attrs& attrs);

// The shape of y for x (N, H, W, C). Returns InvalidArgument, naming `op`, if windows do not fit.
absl::StatusOr<Shape> PooledShape(const char* op, DType dtype, const std::vector<int64_t>& x,
                                  const Attrs& attrs);

ExportRule TensorFlowPool(std::string op);
ExportRule OnnxPool(std::string op);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_POOL_WINDOWS_H_
