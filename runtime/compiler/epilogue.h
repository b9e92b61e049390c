// epilogue: a bias is added by the kernel of the product that it is added to.
#ifndef TPURUN_RUNTIME_COMPILER_EPILOGUE_H_
#define TPURUN_RUNTIME_COMPILER_EPILOGUE_H_

#include "absl/status/statusor.h"
#include "runtime/ir/graph.h"

namespace tpurun {

// Where nothing else reads a product whose kernel takes a bias (KernelPlan::takes_bias), the op
// that adds one (OpFlags::adds_bias) becomes the product's last operand. Exact by the ops'
// definitions; a library kernel may start its sums with the bias.
absl::StatusOr<Graph> MakeBiasEpilogues(const Graph& graph, const Machine& machine);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_COMPILER_EPILOGUE_H_
