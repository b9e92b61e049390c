// Export of convolutions to TensorFlow ops and to ONNX ops.
#ifndef TPURUN_RUNTIME_OPS_EXPORT_CONVOLUTION_H_
#define TPURUN_RUNTIME_OPS_EXPORT_CONVOLUTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {

// Export of conv2d. TensorFlow's Conv2D supports groups on a CPU with oneDNN's kernels only. The
// TensorFlow rule therefore adds one Conv2D per group, or one DepthwiseConv2dNative if possible.
absl::StatusOr<std::vector<Value>> ConvolutionToTensorFlow(ExportCall& call);
absl::StatusOr<std::vector<Value>> ConvolutionToOnnx(ExportCall& call);

// Export of conv2d_input_grad. On a CPU without oneDNN's kernels, TensorFlow's Conv2DBackpropInput
// supports neither dilations nor groups. The TensorFlow rule therefore refuses both.
absl::StatusOr<std::vector<Value>> TransposedConvolutionToTensorFlow(ExportCall& call);
absl::StatusOr<std::vector<Value>> TransposedConvolutionToOnnx(ExportCall& call);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_EXPORT_CONVOLUTION_H_
