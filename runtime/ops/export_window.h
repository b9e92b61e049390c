// The common part of the export rules of convolution and pooling.
#ifndef TPURUN_RUNTIME_OPS_EXPORT_WINDOW_H_
#define TPURUN_RUNTIME_OPS_EXPORT_WINDOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {

// TensorFlow's padding name, VALID or SAME, for the pads {top, bottom, left, right} of a window
// {height, width} over x (N, H, W, C). Returns InvalidArgument for other pads.
absl::StatusOr<std::string> TensorFlowPadding(const Shape& x, const std::vector<int64_t>& window,
                                              const std::vector<int64_t>& strides,
                                              const std::vector<int64_t>& pads);

// {1, height, width, 1}, TensorFlow's form of windows and strides.
std::vector<int64_t> OverNhwc(const std::vector<int64_t>& sizes);

// Adds ONNX's `op`, which takes images as (N, C, H, W), with transposes of inputs[0] and of the
// result, which are (N, H, W, C). Adds the attributes strides and pads to `attrs`.
Value AddOverNchw(ExportCall& call, std::string op, std::vector<Value> inputs, ExportAttrs attrs);

// ONNX's Transpose.
Value AddTranspose(ExportCall& call, Value x, std::vector<int64_t> perm);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_EXPORT_WINDOW_H_
