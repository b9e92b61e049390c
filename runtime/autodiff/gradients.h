// Reverse-mode differentiation of a graph.
#ifndef TPURUN_RUNTIME_AUTODIFF_GRADIENTS_H_
#define TPURUN_RUNTIME_AUTODIFF_GRADIENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {

// Returns d loss / d x for each x, or an invalid Value if the loss does not depend on x. The
// gradient nodes are appended to the graph in the scope "gradients". `loss` is f32[]. The gradients
// of several users of a value are summed with `add`, from the last user to the first. Returns
// InvalidArgument if a path from the loss to an x contains an op without a gradient.
absl::StatusOr<std::vector<Value>> Gradients(GraphBuilder& b, Value loss,
                                             const std::vector<Value>& xs);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_AUTODIFF_GRADIENTS_H_
