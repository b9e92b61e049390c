// Convolutions in TensorFlow's words and in ONNX's.
#ifndef TPURUN_RUNTIME_OPS_EXPORT_CONVOLUTION_H_
#define TPURUN_RUNTIME_OPS_EXPORT_CONVOLUTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {

// Of conv2d. TensorFlow's Conv2D takes groups on a CPU with oneDNN's kernels only: here each group
// has a Conv2D of its own, or all a DepthwiseConv2dNative where that can say it.
absl::StatusOr<std::vector<Value>> ConvolutionToTensorFlow(ExportCall& call);
absl::StatusOr<std::vector<Value>> ConvolutionToOnnx(ExportCall& call);

// Of conv2d_input_grad. TensorFlow's Conv2DBackpropInput takes neither dilations nor groups on a
// CPU with other kernels than oneDNN's: that is refused.
absl::StatusOr<std::vector<Value>> TransposedConvolutionToTensorFlow(ExportCall& call);
absl::StatusOr<std::vector<Value>> TransposedConvolutionToOnnx(ExportCall& call);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_EXPORT_CONVOLUTION_H_
